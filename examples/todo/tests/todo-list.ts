import type { Locator, Page } from '@playwright/test';
import { test as base, expect } from 'playwright-pool';

/** The page object of a to-do list. */
export class TodoList {
  readonly page: Page;
  readonly input: Locator;
  readonly items: Locator;

  constructor(page: Page) {
    this.page = page;
    this.input = page.getByLabel('What needs to be done?');
    this.items = page.getByRole('list', { name: 'To-dos' }).locator('> li');
  }

  async add(...titles: string[]): Promise<void> {
    for (const title of titles) {
      await this.input.fill(title);
      await this.input.press('Enter');
      await expect(this.checkbox(title)).toBeVisible();
    }
  }

  checkbox(title: string): Locator {
    return this.page.getByRole('checkbox', { name: title });
  }

  fileInput(title: string): Locator {
    return this.page.getByLabel(`Attach a file to ${title}`);
  }

  attachments(title: string): Locator {
    return this.page.getByRole('list', { name: `Attachments of ${title}` });
  }
}

/** Gives every test its own list, so that tests can run in parallel. */
export const test = base.extend<{ list: TodoList }>({
  list: async ({ page }, use) => {
    await page.goto('/');
    await page.getByRole('button', { name: 'New list' }).click();
    await expect(page).toHaveTitle('To-do list');
    await use(new TodoList(page));
  },
});

export { expect };
