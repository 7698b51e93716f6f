import type { createClient } from '../../../src/client/index.ts';
import type { RequestListener } from 'node:http';
import { serve, type Serving } from '../http/serve.ts';
import { PlaywrightRun, type RunOptions, type RunResult } from './playwright-run.ts';
import { expectNoProcessWith } from '../processes/processes.ts';
import { test as base } from '../worker.ts';

type Fixtures = {
  /**
   * The data directory of the embedded service of this test's runs. All its processes have ended when the test ends.
   */
  dataDirectory: string;
  /** Starts a whole Playwright run on the embedded service. */
  start: (options: RunOptions) => PlaywrightRun;
  /** Starts a run and waits for its end. */
  run: (options: RunOptions) => Promise<RunResult>;
  /** Starts an HTTP server and returns its URL. */
  serve: (listener: RequestListener) => Promise<string>;
};

const { PLAYWRIGHT_POOL_TEST_TRANSPORT } = process.env;
/** Whether whole runs use Playwright's own protocol. docs/far-browsers.md lists the differences. */
export const isOverPlaywright = PLAYWRIGHT_POOL_TEST_TRANSPORT === 'playwright';
/** Runs all whole runs over one transport: `PLAYWRIGHT_POOL_TEST_TRANSPORT=playwright npm test -- test/fixtures/`. */
const transport = { PLAYWRIGHT_POOL_TRANSPORT: PLAYWRIGHT_POOL_TEST_TRANSPORT ?? 'cdp' };

export const test = base.extend<Fixtures>({
  dataDirectory: async ({}, use, testInfo) => {
    const directory = testInfo.outputPath('data');
    await use(directory);
    await expectNoProcessWith(directory);
  },

  start: async ({ dataDirectory }, use, testInfo) => {
    const runs: PlaywrightRun[] = [];
    await use((options) => {
      // As on a developer's machine, also in CI.
      const env = { CI: '', PLAYWRIGHT_POOL_DATA_DIR: dataDirectory, ...transport, ...options.env };
      const directory = options.directory ?? testInfo.outputPath(`project-${runs.length + 1}`);
      const run = new PlaywrightRun(directory, { ...options, env });
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
    const servers: Serving[] = [];
    await use(async (listener) => {
      const server = await serve(listener);
      servers.push(server);
      return server.url;
    });
    for (const server of servers) await server[Symbol.asyncDispose]();
  },
});

/** The environment of a run that uses this service. */
export function envOf({ url, apiKey }: { url: string; apiKey: string }) {
  return { PLAYWRIGHT_POOL_BASE_URL: url, PLAYWRIGHT_POOL_API_KEY: apiKey };
}

/** An answered acquire as the service saw it: the program that sent it, and two times in ms since the epoch. */
export type Acquire = { run: string; askedAt: number; grantedAt: number };

/** The acquires that got a browser. A lease that waited for longer than one request can last has its last one. */
export async function acquiresOf(client: ReturnType<typeof createClient>): Promise<Acquire[]> {
  const acquires: Acquire[] = [];
  const day = 24 * 3600 * 1000;
  const window = { start: new Date(Date.now() - day).toISOString(), end: new Date(Date.now() + day).toISOString() };
  const records = client.auditLogs.list({ ...window, method: 'POST', search: 'acquire' });
  for await (const { status, user_agent, timestamp, duration_ms } of records) {
    const askedAt = Date.parse(timestamp);
    if (status === 200) acquires.push({ run: user_agent, askedAt, grantedAt: askedAt + duration_ms });
  }
  return acquires;
}

export { expect } from '@playwright/test';
