import { expect, test } from 'playwright-pool';

test('the saved login is still good', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByText('Logged in as alice')).toBeVisible();
});

test.describe('without a login', () => {
  test.use({ storageState: { cookies: [], origins: [] } });

  test('a page of the application leads to the login', async ({ page }) => {
    await page.goto('/');
    await expect(page).toHaveURL(/\/login\?/);
  });

  test('a wrong password is refused', async ({ page }) => {
    await page.goto('/login');
    await page.getByLabel('Name').fill('alice');
    await page.getByLabel('Password').fill('looking glass');
    await page.getByRole('button', { name: 'Log in' }).click();
    await expect(page.getByRole('alert')).toHaveText('That name and password do not fit.');
  });

  test('a request without a login leads to the login page, without a browser', async ({ request }) => {
    const response = await request.get('/lists', { maxRedirects: 0 });
    expect(response.status()).toBe(303);
    expect(response.headers()['location']).toBe('/login?next=%2Flists');
  });
});
