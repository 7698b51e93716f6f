import { expect, test } from 'playwright-pool';
import { shop } from './shop.ts';

test('a new basket is empty', async ({ page }) => {
  await page.setContent(shop);
  await expect(page.getByRole('status')).toHaveText('Total: 0');
});
