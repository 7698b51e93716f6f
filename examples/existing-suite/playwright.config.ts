import { defineConfig, devices } from '@playwright/test';

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 2,
  fullyParallel: true,
  forbidOnly: !!process.env['CI'],
  reporter: 'list',
  webServer: { command: 'node server.mjs', wait: { stdout: /notes at (?<notes_url>\S+)/ } },
  use: { baseURL: process.env['NOTES_URL'], trace: 'retain-on-failure', screenshot: 'only-on-failure' },
  projects: [
    { name: 'log in', testMatch: '*.setup.ts' },
    {
      name: 'phone',
      testMatch: '*.spec.ts',
      use: { ...devices['Pixel 7'], locale: 'de-DE', storageState: '.auth/ann.json' },
      dependencies: ['log in'],
    },
  ],
});
