import { expect, test } from 'playwright-pool';

for (const items of [1, 2, 40, 3]) {
  test(`shows an order with ${items} items`, async ({ page }) => {
    await page.setContent('<li>item</li>'.repeat(items));
    await expect(page.getByRole('listitem')).toHaveCount(items);
  });
}
