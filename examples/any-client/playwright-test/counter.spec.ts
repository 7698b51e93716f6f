import { test, expect } from '@playwright/test';

test('counts clicks', async ({ page }) => {
  await page.setContent('<button onclick="this.textContent = Number(this.textContent) + 1">0</button>');
  const button = page.getByRole('button');
  await button.click();
  await expect(button).toHaveText('1');
});
