import { defineConfig } from 'playwright-pool';

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 1,
  forbidOnly: !!process.env['CI'],
  // Comes first, because other reporters copy attachments when a test ends.
  reporter: [['playwright-pool/reporter'], ['list'], ['html', { open: 'never' }]],
  use: { poolReplay: 'retain-on-failure' },
});
