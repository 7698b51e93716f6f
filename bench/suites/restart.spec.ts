import { appendFileSync } from 'node:fs';

// After each failed test Playwright starts a new worker. Prints the time of each failure and of the next test's first
// page.
const { BENCH_SIDE: side } = process.env;
const { test } =
  side === 'stock'
    ? await import('@playwright/test')
    : side === 'baseline'
      ? await import('./baseline.ts')
      : await import('playwright-pool');

for (let number = 1; number <= 5; number++) {
  test(`fails ${number}`, async ({ page }) => {
    await page.goto(process.env['BENCH_URL']!);
    note('failed');
    throw new Error('as it should');
  });

  test(`next ${number}`, async ({ page }) => {
    await page.goto(process.env['BENCH_URL']!);
    note('page');
  });
}

function note(event: string): void {
  appendFileSync(process.env['BENCH_TIMES']!, `${event} ${Date.now()}\n`);
}
