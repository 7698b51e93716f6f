import { defineConfig } from 'playwright-pool';

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 2,
  fullyParallel: true,
  forbidOnly: !!process.env['CI'],
  reporter: [['list'], ['playwright-pool/reporter']],
  webServer: {
    command: 'node server.mjs',
    wait: { stdout: /guest book on (?<app_url>\S+)/ },
  },
  use: {
    // PLAYWRIGHT_POOL_BASE_URL and PLAYWRIGHT_POOL_API_KEY name the service.
    pool: {
      name: 'far',
      size: 2,
      // The default if the service's URL is on another machine. A forwarded port of this machine is not.
      exposeNetwork: '<loopback>',
    },
    baseURL: process.env['APP_URL'],
  },
});
