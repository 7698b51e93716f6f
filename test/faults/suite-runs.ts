import { join } from 'node:path';
import { expectNoProcessWith, processesFile } from '../support/processes/processes.ts';
import { expect, leasingFrom, test as base } from '../support/runs/fault-runs.ts';
import type { PlaywrightRun, RunResult } from '../support/runs/playwright-run.ts';
import { CliProcess } from '../support/service/service-process.ts';

type SuiteOptions = Parameters<typeof leasingFrom>[1] & {
  /** Source text of further properties for the config. */
  config?: string;
  args?: string[];
  env?: Record<string, string>;
};

type Fixtures = {
  /** Starts a run of a file in `suites` that leases from the pool `ci` of the service at `url`. */
  startSuite: (name: string, url: string, options?: SuiteOptions) => PlaywrightRun;
  /** Does this and waits for the end of the run. */
  runSuite: (...parameters: Parameters<Fixtures['startSuite']>) => Promise<RunResult>;
  /** A service in a process of its own. No process of it is left after the test. */
  served: { url: string; child: CliProcess['child']; directory: string };
};

export const test = base.extend<Fixtures>({
  startSuite: async ({ start }, use) => {
    await use((name, url, { config = '', args = [], env = {}, ...more } = {}) => {
      const leasing = leasingFrom(url, more);
      return start({
        ...fileOf(name, args),
        config: `${leasing.config} ${config}`,
        env: { ...leasing.env, PROCESSES_FILE: processesFile, ...env },
      });
    });
  },

  runSuite: async ({ startSuite }, use) => {
    await use((...parameters) => startSuite(...parameters).finished());
  },

  served: async ({}, use, testInfo) => {
    const directory = testInfo.outputPath('service');
    const env = { PLAYWRIGHT_POOL_API_KEY: leasingFrom('').env.PLAYWRIGHT_POOL_API_KEY };
    {
      await using service = new CliProcess(['serve', '--port', '0', '--data-dir', directory], { env });
      const url = (await service.firstLine()).replace('listening on ', '');
      await use({ url, child: service.child, directory });
    }
    await expectNoProcessWith(directory);
  },
});

export { expect };

/** The options of a run of one file in `suites`. */
export function fileOf(name: string, args: string[] = []) {
  return { suite: join(import.meta.dirname, 'suites'), args: [`/${name}.spec`, ...args] };
}

/** Waits until a test of a run prints a text. */
export async function expectOutput(run: PlaywrightRun, text: string, timeout = 60_000): Promise<void> {
  await expect.poll(() => run.output, { timeout }).toContain(text);
}

/** The statuses of the first attempts, by title. */
export function statusesOf({ results }: RunResult): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(results).map(([title, [attempt]]) => [title, attempt!.status]));
}
