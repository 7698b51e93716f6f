import { test } from 'playwright-pool';

test.use({ poolLease: 'test' });

test('files', async ({ remote }) => {
  await remote.files.push(Buffer.from('x'), '/tmp/x');
});

test('clipboard', async ({ page, remote }) => {
  await page.setContent('x');
  await remote.clipboard.read();
});

test('waits', async ({ page }) => {
  console.log('in use');
  await page.locator('#missing').click();
});
