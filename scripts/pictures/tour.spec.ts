import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '../../examples/todo/tests/todo-list.ts';

const directory = process.env['PICTURES_DIRECTORY']!;

/** The tests that the tour shows. They go on until its last picture. */
const lists = {
  'plans a party': ['Invite Ann', 'Order a cake', 'Find a band', 'Buy candles', 'Write the cards'],
  'packs for a trip': ['Passport', 'Toothbrush', 'Charger', 'Rain coat', 'A good book'],
  'writes the shopping list': ['Milk', 'Bread', 'Apples', 'Coffee', 'Rice'],
};

for (const [title, items] of Object.entries(lists)) {
  test(title, async ({ list }) => {
    await test.step('write the list', async () => await list.add(...items));
    writeFileSync(join(directory, `started ${title}`), '');
    await test.step('work through the list', async () => {
      for (let turn = 0; !existsSync(join(directory, 'seen')); turn++) {
        const box = list.checkbox(items[turn % items.length]!);
        await box.click();
        await expect(box).toBeChecked({ checked: Math.floor(turn / items.length) % 2 === 0 });
        await list.page.waitForTimeout(400);
      }
    });
  });
}
