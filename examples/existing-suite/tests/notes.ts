import type { Locator, Page } from '@playwright/test';

/** The page object of the notes. */
export class Notes {
  readonly heading: Locator;
  readonly entries: Locator;
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
    this.heading = page.getByRole('heading');
    this.entries = page.getByRole('listitem');
  }

  async logIn(name: string): Promise<void> {
    await this.#page.getByLabel('Name').fill(name);
    await this.#page.getByRole('button', { name: 'Log in' }).click();
  }

  async add(text: string): Promise<void> {
    await this.#page.getByLabel('Note').fill(text);
    await this.#page.keyboard.press('Enter');
  }
}
