import { defineConfig } from 'playwright-pool';

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 2,
  fullyParallel: true,
  forbidOnly: !!process.env['CI'],
  reporter: [['playwright-pool/reporter'], ['list']],
  use: {
    // PLAYWRIGHT_POOL_BASE_URL and PLAYWRIGHT_POOL_API_KEY name the service.
    // If the service doesn't answer, tests run on the developer's machine, but fail in CI.
    pool: { name: 'ci', onUnavailable: process.env['CI'] ? 'fail' : 'local' },
  },
});
