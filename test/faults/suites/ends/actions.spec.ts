import { test } from 'playwright-pool';

// Tests in the middle of an action: they wait for an element that doesn't come.
for (const [title, timeout] of [
  ['worker', 120_000],
  ['host', 120_000],
  ['connection', 120_000],
  ['waits', 120_000],
  ['times out', 12_000],
] as const) {
  test(title, async ({ page }) => {
    test.setTimeout(timeout);
    await page.setContent('x');
    console.log(`running ${title}: ${process.pid}`);
    await page.locator('#missing').click();
  });
}

test('works', async ({ page }) => {
  await page.setContent('y');
});
