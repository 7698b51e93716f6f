import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, type Client } from '../../../src/client/index.ts';
import { runDirectory } from '../../../src/reaper/ledger.ts';
import { startService } from '../../../src/service/service.ts';
import { FaultProxy } from '../http/fault-proxy.ts';
import type { PlaywrightRun, RunOptions } from './playwright-run.ts';
import { expect, test as base } from './pool-run.ts';
import { expectNoProcessWith, processesWith, sendSignal } from '../processes/processes.ts';

/** A service that the runs of a test use as if it were on another machine. */
export type HostedService = {
  url: string;
  apiKey: string;
  client: Client;
  /**
   * The options of a run that leases from the pool `ci` with this many browsers. `via` is another address of the
   * service.
   */
  options: (use?: LeasingOptions) => Pick<RunOptions, 'config' | 'env'>;
  /** The number of leased browsers of the pool. */
  leased: () => Promise<number>;
};

type Fixtures = {
  /** A service in this process. When the test ends, no lease and no Chromium is left. */
  hosted: HostedService;
  /** A proxy to the service that causes faults. */
  faultProxy: FaultProxy;
};

const apiKey = 'the-key';

export const test = base.extend<Fixtures>({
  start: async ({ start }, use) => {
    const runs: PlaywrightRun[] = [];
    await use((options) => {
      const run = start(options);
      runs.push(run);
      return run;
    });
    // If a grant is uncertain, a reaper keeps asking. The service is gone here.
    for (const { pid } of runs) {
      sendSignal(processesWith(`run-${pid} `), 'SIGKILL');
      rmSync(runDirectory(pid), { recursive: true, force: true });
    }
  },

  hosted: async ({}, use, testInfo) => {
    const dataDirectory = testInfo.outputPath('hosted');
    const service = await startService({ apiKey, dataDirectory });
    const client = createClient({ baseURL: service.url, apiKey });
    const leased = async () => {
      let count = 0;
      for await (const pool of client.browserPools.list({ name: 'ci' })) count += pool.acquired_count;
      return count;
    };
    await use({ url: service.url, apiKey, client, leased, options: (use) => leasingFrom(service.url, use) });
    await expect.poll(leased, { timeout: 15_000, message: 'browsers that are still leased' }).toBe(0);
    await client.close();
    await service.close();
    await expectNoProcessWith(dataDirectory);
  },

  faultProxy: async ({ hosted }, use) => {
    await using proxy = await FaultProxy.start(hosted.url);
    await use(proxy);
  },
});

export { expect };

/** `pool` and `more` are code: further fields of the option `pool`, and further options. */
type LeasingOptions = { size?: number; via?: string; pool?: string; more?: string };

/** The options of a run that leases from the pool `ci` of a service. */
export function leasingFrom(url: string, { size = 1, via = url, pool = '', more = '' }: LeasingOptions = {}) {
  return {
    env: { PLAYWRIGHT_POOL_BASE_URL: via, PLAYWRIGHT_POOL_API_KEY: apiKey },
    config: `use: { pool: { name: 'ci', size: ${size}, ${pool} }, ${more} },`,
  };
}

/** Expects that no browser had two holders at once. After a killed worker nobody else may get its browser. */
export function expectOneHolderEach(directory: string): void {
  const holders = new Map<string, number>();
  for (const line of readFileSync(join(directory, 'held.jsonl'), 'utf8').trim().split('\n')) {
    const { session, event, pid } = JSON.parse(line) as { session: string; event: 'begin' | 'end'; pid: number };
    expect([undefined, pid], `holders of ${session}`).toContain(holders.get(session));
    if (event === 'begin') holders.set(session, pid);
    else holders.delete(session);
  }
}

/** The number in a line `<name>: <number>` of a run's output. */
export function pidIn(output: string, name: string): number {
  return Number(new RegExp(`${name}: (\\d+)`).exec(output)?.[1]);
}
