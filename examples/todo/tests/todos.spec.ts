import { expect, test } from './todo-list.ts';

test('to-dos are added and completed', async ({ list, page }) => {
  await list.add('Buy milk', 'Call the plumber');
  await list.checkbox('Buy milk').check();

  await expect(list.items).toHaveCount(2);
  await expect(page.getByText('1 left')).toBeVisible();
  await expect(page.getByRole('progressbar', { name: 'Progress' })).toHaveAttribute('aria-valuenow', '1');
});

test('the list is still there after a reload', async ({ list, page }) => {
  await list.add('Buy milk');
  await list.checkbox('Buy milk').check();
  await page.reload();
  await expect(list.checkbox('Buy milk')).toBeChecked();
});

test('the filter shows active or done to-dos', async ({ list, page }) => {
  await list.add('Buy milk', 'Call the plumber');
  await list.checkbox('Buy milk').check();

  await page.getByLabel('Active').check();
  await expect(list.checkbox('Buy milk')).toBeHidden();
  await expect(list.checkbox('Call the plumber')).toBeVisible();

  await page.getByLabel('Done', { exact: true }).check();
  await expect(list.checkbox('Buy milk')).toBeVisible();
  await expect(list.checkbox('Call the plumber')).toBeHidden();
});

test('the list works with the keyboard alone', async ({ list, page }) => {
  await list.add('First', 'Second', 'Third');
  await list.checkbox('First').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await expect(list.checkbox('Second')).toBeChecked();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Delete');
  await expect(list.checkbox('Third')).toHaveCount(0);
});

test("the browser's machine types text", async ({ list, page, remote }) => {
  await list.input.click();
  await remote.computer.type('Water the plants: Übung macht den Meister 🌱');
  await page.keyboard.press('Enter');
  await expect(list.checkbox('Water the plants: Übung macht den Meister 🌱')).toBeVisible();
});

test('the mouse over the progress bar shows how far the list is', async ({ list, page, remote }) => {
  await list.add('Buy milk', 'Call the plumber');
  await list.checkbox('Buy milk').check();
  await expect(page.getByText('1 left')).toBeVisible();

  await remote.computer.mouse.move(page.getByRole('progressbar', { name: 'Progress' }));
  await expect(page.getByRole('tooltip')).toHaveText('1 of 2 done');
  await remote.computer.mouse.move(0, 0);
  await expect(page.getByRole('tooltip')).toBeHidden();
});
