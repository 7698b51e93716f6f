import { test } from '../held.ts';

test('loses it', async ({ page, remote: { session } }) => {
  console.log(`in use: ${session.id}.`);
  for (;;) await page.evaluate('1');
});

test('works', () => {});
