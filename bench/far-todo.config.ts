import { fileURLToPath } from 'node:url';
import { defineConfig } from '@playwright/test';
import todo from '../examples/todo/playwright.config.ts';

const example = fileURLToPath(new URL('../examples/todo', import.meta.url));

/** Runs examples/todo on a service that the environment names, with the fixtures' options in BENCH_LEASE. */
export default defineConfig({
  ...todo,
  testDir: `${example}/tests`,
  outputDir: '../test-results-bench',
  webServer: { cwd: example, command: 'node server.mjs', wait: { stdout: /to-do application on (?<todo_url>\S+)/ } },
  use: { ...todo.use, ...(JSON.parse(process.env['BENCH_LEASE'] ?? '{}') as object) },
});
