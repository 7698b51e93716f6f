import { test } from '../held.ts';

test.describe.configure({ mode: 'parallel' });
for (const title of ['one', 'two', 'three', 'four', 'five'])
  test(title, async ({ page }) => {
    console.log('in use');
    await page.waitForTimeout(Number(process.env['LASTING'] ?? 0));
  });
