import type { Browser } from '@playwright/test';
import { expect, test, TodoList } from './todo-list.ts';

test('the share link is copied', async ({ list, page, remote }) => {
  await page.getByRole('button', { name: 'Copy share link' }).click();
  await expect(page.getByText('Link copied')).toBeVisible();
  await expect.poll(() => remote.clipboard.read()).toContain(`${page.url()}?invite=`);
  await expect(list.items).toHaveCount(0);
});

test('a to-do is pasted', async ({ list, page, remote }) => {
  await remote.clipboard.write('Buy 2 l of milk');
  await list.input.click();
  await page.keyboard.press('ControlOrMeta+V');
  await page.keyboard.press('Enter');
  await expect(list.checkbox('Buy 2 l of milk')).toBeVisible();
});

test('two people see each other work', async ({ list, page, browser, baseURL, remote }) => {
  await page.getByRole('button', { name: 'Copy share link' }).click();
  await expect(page.getByText('Link copied')).toBeVisible();
  const bob = await open(browser, await remote.clipboard.read(), baseURL);

  await list.add('Call the plumber');
  await expect(bob.checkbox('Call the plumber')).toBeVisible();
  await bob.checkbox('Call the plumber').check();
  await expect(list.checkbox('Call the plumber')).toBeChecked();
});

test('a list without an invite stays closed', async ({ list, page, browser, baseURL }) => {
  const bob = await open(browser, page.url(), baseURL);
  await expect(bob.page.getByText('Nothing is here.')).toBeVisible();
  await expect(list.input).toBeVisible();
});

/** Logs in as bob in another context and opens the link. */
async function open(browser: Browser, link: string, baseURL: string | undefined): Promise<TodoList> {
  const context = await browser.newContext({ baseURL, storageState: undefined });
  const page = await context.newPage();
  await page.goto(link);
  await page.getByLabel('Name').fill('bob');
  await page.getByLabel('Password').fill('builder');
  await page.getByRole('button', { name: 'Log in' }).click();
  return new TodoList(page);
}
