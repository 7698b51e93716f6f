import { mkdir, readdir } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from '@playwright/test';
import { startService } from '../../src/service/service.ts';
import { empty } from '../support/service/shared-service.ts';
import { test as base } from '../support/service/profiles.ts';
import { callerOf, type TestService } from '../support/service/service.ts';
import { commandRunner, type Ended } from '../support/processes/command.ts';
import { CliProcess } from '../support/service/service-process.ts';
import { outputPath } from '../support/runs/output-path.ts';
import { serve } from '../support/http/serve.ts';
import { perWorker } from '../support/worker.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Runs a command until it ends. A text has one space between two arguments. */
export type RunCommand = (
  command: string | readonly string[],
  options?: { env?: Record<string, string>; cwd?: string },
) => Promise<Ended>;

type Fixtures = {
  /** The environment with the service's address and key, and the temporary directory. */
  env: Record<string, string>;
  temporary: string;
  /** Runs commands in this process and the test's output directory. */
  cli: RunCommand;
  /** Like `cli`, in an own process. */
  cliProcess: RunCommand;
  /** Starts a server with these answers, and returns an environment that names it. */
  answering: (answer: Answer) => Promise<Record<string, string>>;
};

/** `service` is one service for many tests. Each of them finds it without profiles, pools and sessions. */
export const test = base.extend<Fixtures & { sharedService: TestService }>({
  sharedService: perWorker(async (use) => {
    await using service = await startService();
    await use({ ...service, call: callerOf(service) });
  }),
  service: async ({ sharedService: service }, use) => {
    await use(service);
    await empty(service.call);
  },
  temporary: async ({}, use) => {
    const temporary = outputPath('tmp');
    await mkdir(temporary, { recursive: true });
    await use(temporary);
    // Playwright keeps its compiled files.
    expect((await readdir(temporary)).filter((name) => !name.startsWith('playwright-transform-cache'))).toEqual([]);
  },
  env: async ({ service, temporary }, use) => {
    await use({ PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: service.apiKey, TMPDIR: temporary });
  },
  cli: async ({ env }, use) => {
    await mkdir(outputPath(), { recursive: true });
    const runCommand = commandRunner();
    await use(async (command, { cwd = outputPath(), ...options } = {}) => {
      const ended = await runCommand(wordsOf(command), { cwd, env: { ...env, ...options.env } });
      expectNoControlCharacters(ended.stdout + ended.stderr);
      return ended;
    });
  },
  cliProcess: async ({ env }, use) => {
    await use(async (command, { cwd = outputPath(), ...options } = {}) => {
      const cli = new CliProcess([...wordsOf(command)], { cwd, env: { ...env, ...options.env } });
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
    const servers: AsyncDisposable[] = [];
    await use(async (answer) => {
      const server = await serve((...exchange) => void answer(...exchange));
      servers.push(server);
      return { PLAYWRIGHT_POOL_BASE_URL: server.url, PLAYWRIGHT_POOL_API_KEY: 'key', TMPDIR: temporary };
    });
    for (const server of servers) await server[Symbol.asyncDispose]();
  },
});

/** The same with a service without Chromium: its pools exist, but never have a browser. */
export const testWithoutBrowsers = test.extend({
  sharedService: perWorker(async (use) => {
    await using service = await startService({ chromium: { executable: '/nowhere' } });
    await use({ ...service, call: callerOf(service) });
  }),
});

/** The same with a service for each test, for things that can't be removed from it. */
export const testWithOwnService = test.extend({
  service: async ({}, use) => {
    await using service = await startService();
    await use({ ...service, call: callerOf(service) });
  },
});

/** Expects a command to fail with this exit code, without output on stdout. Its message contains or matches `message`. */
export function expectFailure({ code, stdout, stderr }: Ended, expected: number, message: string | RegExp): void {
  expect({ code, stdout }, stderr).toEqual({ code: expected, stdout: '' });
  if (typeof message === 'string') expect(stderr).toContain(message);
  else expect(stderr).toMatch(message);
}

/** Sends a signal to a command, and expects it to exit with this code. */
export async function expectExit({ child, exited }: CliProcess, signal: NodeJS.Signals, code: number): Promise<void> {
  child.kill(signal);
  expect(await exited).toEqual({ code, signal: null });
}

/** The output of a command that succeeded. */
export function printed({ code, stdout, stderr }: Ended): string {
  expect(code, stderr).toBe(0);
  return stdout;
}

function wordsOf(command: string | readonly string[]): readonly string[] {
  return typeof command === 'string' ? command.split(' ') : command;
}

function expectNoControlCharacters(output: string): void {
  // oxlint-disable-next-line no-control-regex
  expect(output).not.toMatch(/[\0-\x09\x0B-\x1F\x7F-\x9F]/);
}

export { expect };
