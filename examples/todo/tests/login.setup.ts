import { expect, test } from 'playwright-pool';
import { savedLogin } from './saved-login.ts';

test('alice logs in', async ({ page, context }) => {
  await page.goto('/');
  await page.getByLabel('Name').fill('alice');
  await page.getByLabel('Password').fill('wonderland');
  await page.getByRole('button', { name: 'Log in' }).click();
  await expect(page.getByRole('heading', { name: 'Your lists' })).toBeVisible();
  await context.storageState({ path: savedLogin });
});
