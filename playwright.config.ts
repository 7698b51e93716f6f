import { defineConfig } from '@playwright/test';
import { ownEnvironment } from './test/support/processes/own-environment.ts';

const forbidOnly = !!process.env['CI'];
ownEnvironment();

export default defineConfig({
  testDir: 'test',
  // These are the projects of whole runs.
  testIgnore: '**/suites/**',
  outputDir: 'test-results',
  // Two leave half of two processors idle: tests wait for browsers and timers.
  workers: 3,
  fullyParallel: true,
  // Much more than a test takes: others use the processors, too.
  timeout: 120_000,
  expect: { timeout: 30_000 },
  retries: 0,
  forbidOnly,
  reporter: 'list',
});
