import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from '@playwright/test';
import { test as base } from '../support/service/profiles.ts';
import { commandRunner, type Ended } from '../support/processes/command.ts';
import { CliProcess } from '../support/service/service-process.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

type RunCommand = (args: string[], options?: { env?: Record<string, string>; cwd?: string }) => Promise<Ended>;

type Fixtures = {
  /** The environment with the service's address and key, and the temporary directory. */
  env: Record<string, string>;
  temporary: string;
  /** Runs a command until it ends, in this process and the test's output directory. */
  cli: RunCommand;
  /** Like `cli`, in an own process. */
  cliProcess: RunCommand;
  /** Starts a server with these answers, and returns an environment that names it. */
  answering: (answer: Answer) => Promise<Record<string, string>>;
};

export const test = base.extend<Fixtures>({
  temporary: async ({}, use, testInfo) => {
    const temporary = testInfo.outputPath('tmp');
    await mkdir(temporary, { recursive: true });
    await use(temporary);
    // Playwright keeps its compiled files.
    expect((await readdir(temporary)).filter((name) => !name.startsWith('playwright-transform-cache'))).toEqual([]);
  },
  env: async ({ service, temporary }, use) => {
    await use({ PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: service.apiKey, TMPDIR: temporary });
  },
  cli: async ({ env }, use, testInfo) => {
    await mkdir(testInfo.outputPath(), { recursive: true });
    const runCommand = commandRunner();
    await use(async (args, options = {}) => {
      const ended = await runCommand(args, {
        cwd: options.cwd ?? testInfo.outputPath(),
        env: { ...env, ...options.env },
      });
      expectNoControlCharacters(ended.stdout + ended.stderr);
      return ended;
    });
  },
  cliProcess: async ({ env }, use, testInfo) => {
    await use(async (args, options = {}) => {
      const cli = new CliProcess(args, { cwd: options.cwd ?? testInfo.outputPath(), env: { ...env, ...options.env } });
      const ended = { stdout: '', stderr: '' };
      for (const stream of ['stdout', 'stderr'] as const) {
        cli.child[stream]!.setEncoding('utf8').on('data', (text: string) => (ended[stream] += text));
      }
      const { code } = await cli.exited;
      expectNoControlCharacters(cli.output);
      return { code, ...ended };
    });
  },
  answering: async ({ temporary }, use) => {
    const servers: ReturnType<typeof createServer>[] = [];
    await use(async (answer) => {
      const server = createServer((...exchange) => void answer(...exchange));
      servers.push(server);
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      return { PLAYWRIGHT_POOL_BASE_URL: url, PLAYWRIGHT_POOL_API_KEY: 'key', TMPDIR: temporary };
    });
    for (const server of servers) server.close().closeAllConnections();
  },
});

function expectNoControlCharacters(output: string): void {
  // oxlint-disable-next-line no-control-regex
  expect(output).not.toMatch(/[\0-\x09\x0B-\x1F\x7F-\x9F]/);
}

export { expect };
