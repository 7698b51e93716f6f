import { defineConfig } from '@playwright/test';
import type { PoolTestOptions, PoolWorkerOptions } from 'playwright-pool';

export default defineConfig<PoolTestOptions, PoolWorkerOptions>({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 1,
  forbidOnly: !!process.env['CI'],
  // Before the others, which copy what is attached to a test when it ends.
  reporter: [['playwright-pool/reporter'], ['list'], ['html', { open: 'never' }]],
  use: { replay: 'retain-on-failure' },
});
