import { defineConfig } from '@playwright/test';

const { BENCH_SIDE, BENCH_CHROMIUM, BENCH_LEASE } = process.env;

export default defineConfig({
  testDir: '.',
  outputDir: '../test-results',
  fullyParallel: true,
  reporter: 'dot',
  use: BENCH_SIDE === 'stock' ? { launchOptions: { executablePath: BENCH_CHROMIUM } } : JSON.parse(BENCH_LEASE ?? '{}'),
});
