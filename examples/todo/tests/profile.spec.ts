import { expect, test } from 'playwright-pool';

test("the page has the data of carol's profile", async ({ page }) => {
  await page.goto('/');
  await expect(page.getByText('Logged in as carol')).toBeVisible();
  await page.getByRole('link', { name: 'List' }).last().click();
  await expect(page.getByRole('radio', { name: 'Active' })).toBeChecked();
  await expect(page.getByLabel('What needs to be done?')).toHaveValue('Paint the roses');
});

test('the profile downloads as a user-data directory', async ({ remote, page }, testInfo) => {
  await page.goto('/');
  await remote.profile.extractTo(testInfo.outputPath('carol'));
  const { cookies } = await remote.profile.storageState();
  expect(cookies.map(({ name }) => name)).toContain('session');
});
