import { fileURLToPath } from 'node:url';
import { defineConfig, type ReplayMode } from 'playwright-pool';
import todo from '../examples/todo/playwright.config.ts';

const example = fileURLToPath(new URL('../examples/todo', import.meta.url));

/** Runs examples/todo with a replay of each test, or without. */
export default defineConfig({
  ...todo,
  testDir: `${example}/tests`,
  outputDir: '../test-results-bench',
  webServer: { cwd: example, command: 'node server.mjs', wait: { stdout: /to-do application on (?<todo_url>\S+)/ } },
  use: {
    ...todo.use,
    poolReplay: { mode: process.env['BENCH_REPLAY'] as ReplayMode, framerate: 10, size: { width: 1280, height: 720 } },
  },
});
