import { defineConfig } from 'playwright-pool';
import todo from '../../examples/todo/playwright.config.ts';
import { savedLogin } from '../../examples/todo/tests/saved-login.ts';

const directory = process.env['PICTURES_DIRECTORY'];

export default defineConfig({
  outputDir: `${directory}/results`,
  workers: 1,
  reporter: [['playwright-pool/reporter'], ['html', { open: 'never', outputFolder: `${directory}/report` }], ['list']],
  webServer: {
    command: 'node ../../examples/todo/server.mjs',
    wait: { stdout: /to-do application on (?<todo_url>\S+)/ },
  },
  use: {
    ...todo.use,
    trace: 'off',
    viewport: { width: 960, height: 540 },
    poolReplay: 'retain-on-failure',
    pool: { replayLinks: 'full' },
  },
  projects: [
    { name: 'log in', testDir: '../../examples/todo/tests', testMatch: 'login.setup.ts', use: { poolReplay: 'off' } },
    {
      name: 'todo',
      testDir: '.',
      testMatch: 'shopping.spec.ts',
      dependencies: ['log in'],
      use: { storageState: savedLogin },
    },
  ],
});
