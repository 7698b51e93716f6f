import { defineConfig } from '@playwright/test';

const { BENCH_SIDE, BENCH_CHROMIUM, BENCH_LEASE, BENCH_REPEAT } = process.env;

const useOf: Record<string, object> = { stock: { launchOptions: { executablePath: BENCH_CHROMIUM } }, plain: {} };

/**
 * The config of the suites in this folder. With BENCH_SIDE=stock they run on Playwright alone, with `plain` over
 * PW_TEST_CONNECT_WS_ENDPOINT, otherwise with the lease options in BENCH_LEASE.
 */
export default defineConfig({
  testDir: '.',
  outputDir: '../test-results',
  fullyParallel: true,
  repeatEach: Number(BENCH_REPEAT ?? 1),
  reporter: 'dot',
  use: useOf[BENCH_SIDE ?? ''] ?? JSON.parse(BENCH_LEASE ?? '{}'),
});
