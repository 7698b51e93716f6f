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
    // The service is that of PLAYWRIGHT_POOL_BASE_URL and PLAYWRIGHT_POOL_API_KEY.
    pool: 'ci',
    // While that service does not answer, the tests of a developer run on the own machine; those of CI fail.
    onUnavailable: process.env['CI'] ? 'fail' : 'local',
  },
});
