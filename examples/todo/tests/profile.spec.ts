import { expect, test } from 'playwright-pool';

test('what carol left under the profile is there', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByText('Logged in as carol')).toBeVisible();
  await page.getByRole('link', { name: 'List' }).last().click();
  await expect(page.getByRole('radio', { name: 'Active' })).toBeChecked();
  await expect(page.getByLabel('What needs to be done?')).toHaveValue('Paint the roses');
});

test('the profile is downloaded and made a user-data directory', async ({ storedProfile, page }, testInfo) => {
  await page.goto('/');
  await storedProfile.extractTo(testInfo.outputPath('carol'));
  const { cookies } = await storedProfile.storageState();
  expect(cookies.map(({ name }) => name)).toContain('session');
});
