import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { callerOf, type Call } from '../../support/service/service.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { expect, test as base } from '../../support/worker.ts';

export type Served = { cli: CliProcess; url: string; apiKey: string; call: Call };

type Fixtures = {
  /** The data directory. All processes that name it have ended when the test ends. */
  directory: string;
  /** Starts `playwright-pool serve` with options, with one space between two of them. */
  serve: (options?: string, env?: Record<string, string>) => Promise<Served>;
};

export const test = base.extend<Fixtures>({
  directory: async ({}, use) => {
    const directory = outputPath('data');
    await use(directory);
    await expectNoProcessWith(directory);
  },
  serve: async ({ directory }, use) => {
    const processes: CliProcess[] = [];
    await use(async (options = '', env = {}) => {
      const args = ['serve', '--data-dir', directory, ...options.split(' ').filter(Boolean)];
      const cli = new CliProcess(args, { env: { PLAYWRIGHT_POOL_API_KEY: '', ...env } });
      processes.push(cli);
      const url = (await cli.firstLine()).replace(/^listening on /, '');
      const apiKey = env['PLAYWRIGHT_POOL_API_KEY'] ?? (await readFile(join(directory, 'api-key'), 'utf8')).trim();
      return { cli, url, apiKey, call: callerOf({ url, apiKey }) };
    });
    await Promise.all(processes.map((cli) => cli[Symbol.asyncDispose]()));
  },
});

/** Sends a signal to a service, and expects that it leaves no browser, no session and no record. */
export async function expectEnded(
  { child, exited }: CliProcess,
  directory: string,
  { by, hasKey = true }: { by: NodeJS.Signals; hasKey?: boolean },
): Promise<void> {
  child.kill(by);
  expect(await exited).toEqual({ code: 0, signal: null });
  await expectNoProcessWith(directory);
  // In root's home, sessions live elsewhere, and a file says where.
  const left = (await readdir(directory)).filter((name) => name !== 'sessions-directory');
  const kept = ['deployments', 'extensions', 'profiles', 'replays', 'service.db'];
  expect(left.toSorted()).toEqual([...(hasKey ? ['api-key'] : []), ...kept]);
}

export { expect };
