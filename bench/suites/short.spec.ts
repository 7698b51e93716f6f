// Both sides run these tests. Only the import differs.
const { BENCH_SIDE: side } = process.env;
const { test, expect } =
  side === 'stock' || side === 'plain'
    ? await import('@playwright/test')
    : side === 'baseline'
      ? await import('./baseline.ts')
      : await import('playwright-pool');

// As many tests as BENCH_TESTS says.
for (let number = 1; number <= Number(process.env['BENCH_TESTS'] ?? 200); number++) {
  test(`page ${number}`, async ({ page }) => {
    await page.goto(process.env['BENCH_URL']!);
    await expect(page.getByRole('heading')).toHaveText('Page');
  });
}
