import { expect, test } from 'playwright-pool';

for (const name of ['Ada', 'Grace']) {
  test(`${name} signs the guest book`, async ({ page }) => {
    await page.goto('/');
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Sign' }).click();
    await expect(page.getByRole('listitem').filter({ hasText: name })).toBeVisible();
  });
}
