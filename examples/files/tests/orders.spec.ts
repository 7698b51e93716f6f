import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'playwright-pool';

const orders = join(import.meta.dirname, '../orders');
const all = 'number,total\n1001,99.00\n1002,7.25\n1003,12.50';

test("imports orders from the browser's machine, and exports them there", async ({ page, remote }) => {
  await remote.files.push(`${orders}/*.csv`, '/home/user/orders/');
  await page.goto('/');
  await remote.files.attach(page.getByLabel('Orders'), '/home/user/orders/march.csv', '/home/user/orders/april.csv');
  await expect(page.getByRole('status')).toHaveText('3 orders');

  await page.getByRole('link', { name: 'Export' }).click();
  const { path } = await remote.files.waitFor('*.csv');
  await expect(remote.files).toHaveFile(path, { text: all });
});

test("Playwright's own uploads and downloads travel to that machine and back", async ({ page }, testInfo) => {
  await page.goto('/');
  await page.getByLabel('Orders').setInputFiles([join(orders, 'march.csv'), join(orders, 'april.csv')]);
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export' }).click();
  const file = testInfo.outputPath('all-orders.csv');
  await (await downloading).saveAs(file);
  expect(await readFile(file, 'utf8')).toBe(all);
});
