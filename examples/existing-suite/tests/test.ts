import { test as base, expect } from 'playwright-pool'; // was: '@playwright/test'
import { Notes } from './notes.ts';

export const test = base.extend<{ notes: Notes }>({
  notes: async ({ page }, use) => {
    await page.goto('/');
    await use(new Notes(page));
  },
});

export { expect };
