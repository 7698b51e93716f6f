import { mkdir, readdir } from 'node:fs/promises';
import { expect } from '@playwright/test';
import { test as base } from '../support/profiles.ts';
import { CliProcess } from '../support/service-process.ts';

export type Ended = { code: number | null; stdout: string; stderr: string };

type Fixtures = {
  /** What commands need to talk to the service, and where they keep temporary files. */
  env: Record<string, string>;
  temporary: string;
  /** Runs `playwright-pool` until it ends, in the test's output directory. */
  cli: (args: string[], options?: { env?: Record<string, string>; cwd?: string }) => Promise<Ended>;
};

export const test = base.extend<Fixtures>({
  temporary: async ({}, use, testInfo) => {
    const temporary = testInfo.outputPath('tmp');
    await mkdir(temporary, { recursive: true });
    await use(temporary);
    // Playwright keeps what it has compiled.
    expect((await readdir(temporary)).filter((name) => !name.startsWith('playwright-transform-cache'))).toEqual([]);
  },
  env: async ({ service, temporary }, use) => {
    await use({ PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: service.apiKey, TMPDIR: temporary });
  },
  cli: async ({ env }, use, testInfo) => {
    await use(async (args, options = {}) => {
      const cli = new CliProcess(args, { cwd: options.cwd ?? testInfo.outputPath(), env: { ...env, ...options.env } });
      const ended = { stdout: '', stderr: '' };
      for (const stream of ['stdout', 'stderr'] as const) {
        cli.child[stream]!.setEncoding('utf8').on('data', (text: string) => (ended[stream] += text));
      }
      const { code } = await cli.exited;
      // oxlint-disable-next-line no-control-regex
      expect(cli.output).not.toMatch(/[\0-\x09\x0B-\x1F\x7F-\x9F]/);
      return { code, ...ended };
    });
  },
});

export { expect };
