import { defineConfig } from 'playwright-pool';

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  fullyParallel: true,
  reporter: [['list'], ['blob'], ['playwright-pool/reporter', { shards: 'balanced' }]],
});
