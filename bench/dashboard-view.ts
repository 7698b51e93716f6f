import type { Page } from '@playwright/test';
import { apiKey } from './service.ts';

/** Opens the dashboard, and signs in with the key of the measured services. */
export async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel('API key').fill(apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').first().waitFor();
}
