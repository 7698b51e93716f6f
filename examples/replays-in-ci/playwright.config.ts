import { defineConfig } from '@playwright/test';
import type { PoolTestOptions, PoolWorkerOptions } from 'playwright-pool';

export default defineConfig<PoolTestOptions, PoolWorkerOptions>({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 1,
  forbidOnly: !!process.env['CI'],
  // Comes first, because other reporters copy attachments when a test ends.
  reporter: [['playwright-pool/reporter'], ['list'], ['html', { open: 'never' }]],
  use: { replay: 'retain-on-failure' },
});
