import { defineConfig } from '@playwright/test';
import type { PoolTestOptions, PoolWorkerOptions } from 'playwright-pool';

export default defineConfig<PoolTestOptions, PoolWorkerOptions>({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 2,
  fullyParallel: true,
  forbidOnly: !!process.env['CI'],
  reporter: [['playwright-pool/reporter'], ['list']],
  use: {
    // PLAYWRIGHT_POOL_BASE_URL and PLAYWRIGHT_POOL_API_KEY name the service.
    pool: 'ci',
    // If the service doesn't answer, tests run on the developer's machine, but fail in CI.
    onUnavailable: process.env['CI'] ? 'fail' : 'local',
  },
});
