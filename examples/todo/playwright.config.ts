import { defineConfig } from 'playwright-pool';
import { savedLogin } from './tests/saved-login.ts';

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 2,
  fullyParallel: true,
  retries: 0,
  forbidOnly: !!process.env['CI'],
  reporter: [['list'], ['playwright-pool/reporter']],
  webServer: {
    command: 'node server.mjs',
    wait: { stdout: /to-do application on (?<todo_url>\S+)/ },
  },
  use: {
    // Set by the web server, which starts before the workers read this file.
    baseURL: process.env['TODO_URL'],
    pool: { name: 'todo', size: 2, release: 'recycle' },
    poolLease: 'worker',
    permissions: ['clipboard-write'],
    trace: 'retain-on-failure',
  },
  projects: [
    { name: 'log in', testMatch: 'login.setup.ts' },
    {
      name: 'todo',
      testMatch: '*.spec.ts',
      testIgnore: 'profile.spec.ts',
      dependencies: ['log in'],
      use: { storageState: savedLogin },
    },
    {
      name: 'log in under a profile',
      testMatch: 'profile.setup.ts',
      use: { poolProfile: { name: 'carol', save: true } },
    },
    {
      name: 'profile',
      testMatch: 'profile.spec.ts',
      dependencies: ['log in under a profile'],
      use: { poolProfile: 'carol' },
    },
  ],
});
