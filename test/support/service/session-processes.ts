import { randomInt } from 'node:crypto';
import { expect } from '@playwright/test';
import type { Client } from '../../../src/client/index.ts';
import type { ProcessEvent } from '../../../src/contract/processes.ts';
import { commandLine, processesWith } from '../processes/processes.ts';
import { test as base } from './service.ts';

/** Runs lines of a shell in a session. */
export type Shell = {
  id: string;
  /** Returns the standard output without the end of its last line. Rejects if the exit code isn't 0. */
  run(line: string): Promise<string>;
  /** Starts a line and returns the id of its process. */
  spawn(line: string): Promise<string>;
};

type Fixtures = {
  /** The client's calls about processes. */
  programs: Client['browsers']['process'];
  shell: Shell;
};

export const test = base.extend<Fixtures>({
  serviceOptions: async ({}, use, testInfo) => use({ dataDirectory: testInfo.outputPath('data') }),
  programs: async ({ client }, use) => use(client.browsers.process),
  shell: async ({ client }, use) => {
    const { session_id: id } = await client.browsers.create();
    await use(shellIn(client, id));
  },
});

export function shellIn(client: Client, id: string): Shell {
  return {
    id,
    run: async (line) => {
      const { exit_code, stdout_b64, stderr_b64 } = await client.browsers.process.exec(id, sh(line));
      expect(exit_code, decoded(stderr_b64)).toBe(0);
      return decoded(stdout_b64).trimEnd();
    },
    spawn: async (line) => (await client.browsers.process.spawn(id, sh(line))).process_id,
  };
}

function sh(line: string): { command: string; args: string[] } {
  return { command: 'sh', args: ['-c', line] };
}

/** Reads the events of a process. */
export function reading(stream: AsyncIterable<ProcessEvent>) {
  const events: ProcessEvent[] = [];
  const iterator = stream[Symbol.asyncIterator]();
  const text = (name: 'stdout' | 'stderr' = 'stdout') =>
    events
      .map((event) => ('data_b64' in event && event.stream === name ? decoded(String(event.data_b64)) : ''))
      .join('');
  const next = async () => {
    const { done, value } = await iterator.next();
    if (!done) events.push(value);
    return !done;
  };
  return {
    events,
    text,
    /** Reads until the standard output contains a text. */
    until: async (expected: string) => {
      while (!text().includes(expected) && (await next()));
      expect(text()).toContain(expected);
    },
    end: async () => {
      while (await next());
    },
  };
}

/** A command line of `sleep` that no other test has. */
export function uniqueSleep(): string {
  return `sleep ${randomInt(100_000, 1_000_000)}.${randomInt(100_000, 1_000_000)}`;
}

/** How many processes have this command line. Linux only. */
export function runningCount(line: string): number {
  return processesWith(line).filter((pid) => commandLine(pid).slice(0, -1).join(' ') === line).length;
}

export function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

export function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
}
