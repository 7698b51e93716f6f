import { expect, test } from 'playwright-pool';
import { shop } from './shop.ts';

test('two books cost twice as much as one', async ({ page }) => {
  await page.setContent(shop);
  await test.step('put two books into the basket', async () => {
    await page.getByRole('button', { name: 'Add a book' }).click();
    await page.getByRole('button', { name: 'Add a book' }).click();
  });
  await test.step('compare the total', async () => {
    await expect(page.getByRole('status')).toHaveText('Total: 24', { timeout: 2000 });
  });
});
