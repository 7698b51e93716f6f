import { defineConfig } from '@playwright/test';

const { BENCH_SIDE, BENCH_CHROMIUM, BENCH_LEASE } = process.env;

/**
 * The config of the suites in this folder. With BENCH_SIDE=stock they run on Playwright alone, otherwise with the lease
 * options in BENCH_LEASE.
 */
export default defineConfig({
  testDir: '.',
  outputDir: '../test-results',
  fullyParallel: true,
  reporter: 'dot',
  use: BENCH_SIDE === 'stock' ? { launchOptions: { executablePath: BENCH_CHROMIUM } } : JSON.parse(BENCH_LEASE ?? '{}'),
});
