import { expect, test } from 'playwright-pool';

test('the page greets the signed-in user', async ({ page, connection }) => {
  const [name] = connection.profile.split('-');
  await page.goto('/');
  await expect(page.getByText(`Signed in as ${name}`)).toBeVisible();
});

test('logging out here leaves the profile logged in', async ({ page, connection }) => {
  await page.context().clearCookies();
  await page.goto('/');
  await expect(page.getByText('Welcome.')).toBeVisible();
  await expect(connection).toBeAuthenticated();
});
