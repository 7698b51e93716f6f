import { appendFileSync } from 'node:fs';
import { expect, test } from 'playwright-pool';

// Each test appends a byte to the file BENCH_TIMES. The bench stops the run long before the last test.
for (let number = 1; number <= 5000; number++) {
  test(`page ${number}`, async ({ page }) => {
    await page.goto(process.env['BENCH_URL']!);
    await expect(page.getByRole('heading')).toHaveText('Page');
    appendFileSync(process.env['BENCH_TIMES']!, '.');
  });
}
