import { expect, test } from 'playwright-pool';

for (let index = 0; index < Number(process.env['TESTS']); index++)
  test(`test ${index}`, async ({ page }) => {
    await page.setContent('<button onclick="document.title = 1">Go</button>');
    await page.getByRole('button').click();
    await expect(page).toHaveTitle('1');
    console.log(`done ${index}`);
  });
