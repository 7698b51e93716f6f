import { made, test } from '../held.ts';

test('holds', async ({ page }) => {
  test.setTimeout(60_000);
  console.log('in use');
  await made('done');
  await page.evaluate('1');
});
