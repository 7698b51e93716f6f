import { defineConfig } from 'playwright-pool';

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 1,
  forbidOnly: !!process.env['CI'],
  reporter: [['playwright-pool/reporter'], ['list']],
  webServer: { command: 'node server.mjs', wait: { stdout: /orders at (?<orders_url>\S+)/ } },
  use: { baseURL: process.env['ORDERS_URL'] },
});
