import { expect, test } from 'playwright-pool';

// The service saves the browser's default context, which has no base URL.
test('carol logs in under a profile', async ({ page, baseURL }) => {
  await page.goto(baseURL!);
  await page.getByLabel('Name').fill('carol');
  await page.getByLabel('Password').fill('looking glass');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('button', { name: 'New list' }).click();

  await page.getByRole('radio', { name: 'Active' }).check();
  await page.getByLabel('What needs to be done?').fill('Paint the roses');
  await expect(page.getByText('Draft kept')).toBeVisible();
});
