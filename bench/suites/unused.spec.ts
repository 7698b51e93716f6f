// Tests that use no browser: they show what importing our fixtures costs a test.
const { test, expect } =
  process.env['BENCH_SIDE'] === 'stock' ? await import('@playwright/test') : await import('playwright-pool');

for (let number = 1; number <= 500; number++) {
  test(`sum ${number}`, () => {
    expect(number + 1).toBe(1 + number);
  });
}
