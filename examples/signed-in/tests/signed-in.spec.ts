import { expect, test } from 'playwright-pool';

test('the page greets the signed-in user', async ({ page, remote }) => {
  const [name] = remote.connection.profile.split('-');
  await page.goto('/');
  await expect(page.getByText(`Signed in as ${name}`)).toBeVisible();
});

test('logging out here leaves the profile logged in', async ({ page, remote }) => {
  await page.context().clearCookies();
  await page.goto('/');
  await expect(page.getByText('Welcome.')).toBeVisible();
  await expect(remote.connection).toBeAuthenticated();
});
