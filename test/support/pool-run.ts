import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test as base } from '@playwright/test';
import { PlaywrightRun, type RunOptions, type RunResult } from './playwright-run.ts';
import { expectNoProcessWith } from './processes.ts';

type Fixtures = {
  /** Where the embedded service of this test's runs keeps its data. Every process of it has left when the test ends. */
  dataDirectory: string;
  /** Starts a whole Playwright run on the embedded service. */
  start: (options: RunOptions) => PlaywrightRun;
  /** As `start`, to its end. */
  run: (options: RunOptions) => Promise<RunResult>;
  /** Starts an HTTP server and returns its URL. */
  serve: (listener: RequestListener) => Promise<string>;
};

export const test = base.extend<Fixtures>({
  dataDirectory: async ({}, use, testInfo) => {
    const directory = testInfo.outputPath('data');
    await use(directory);
    await expectNoProcessWith(directory);
  },

  start: async ({ dataDirectory }, use, testInfo) => {
    const runs: PlaywrightRun[] = [];
    await use((options) => {
      // As on a developer's machine, wherever these tests run.
      const env = { CI: '', PLAYWRIGHT_POOL_DATA_DIR: dataDirectory, ...options.env };
      const run = new PlaywrightRun(testInfo.outputPath(`project-${runs.length + 1}`), { ...options, env });
      runs.push(run);
      return run;
    });
    await Promise.all(runs.map((run) => run[Symbol.asyncDispose]()));
    if (testInfo.errors.length > 0) console.log(runs.map(({ output }) => output).join('\n--- next run ---\n'));
  },

  run: async ({ start }, use) => {
    await use((options) => start(options).finished());
  },

  serve: async ({}, use) => {
    const servers: Server[] = [];
    await use(async (listener) => {
      const server = createServer(listener);
      servers.push(server);
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  },
});

export { expect } from '@playwright/test';
