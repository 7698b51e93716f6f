import { defineConfig } from '@playwright/test';

const { BENCH_SIDE, BENCH_CHROMIUM, BENCH_LEASE } = process.env;

/** The config of the suites beside it. BENCH_SIDE chooses this package, Playwright alone or the baseline. */
export default defineConfig({
  testDir: '.',
  outputDir: '../test-results',
  fullyParallel: true,
  reporter: 'dot',
  use: BENCH_SIDE === 'stock' ? { launchOptions: { executablePath: BENCH_CHROMIUM } } : JSON.parse(BENCH_LEASE ?? '{}'),
});
