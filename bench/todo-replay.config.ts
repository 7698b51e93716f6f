import { fileURLToPath } from 'node:url';
import { defineConfig } from '@playwright/test';
import type { PoolTestOptions, PoolWorkerOptions, ReplayMode } from 'playwright-pool';
import todo from '../examples/todo/playwright.config.ts';

const example = fileURLToPath(new URL('../examples/todo', import.meta.url));

/** Runs examples/todo with a replay of each test, or without. */
export default defineConfig<PoolTestOptions, PoolWorkerOptions>({
  ...todo,
  testDir: `${example}/tests`,
  outputDir: '../test-results-bench',
  webServer: { cwd: example, command: 'node server.mjs', wait: { stdout: /to-do application on (?<todo_url>\S+)/ } },
  use: {
    ...todo.use,
    replay: { mode: process.env['BENCH_REPLAY'] as ReplayMode, framerate: 10, size: { width: 1280, height: 720 } },
  },
});
