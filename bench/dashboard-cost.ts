import { stat, writeFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import type { Browser, Page } from '@playwright/test';
import type { Client } from 'playwright-pool/client';
import { interleaved, interleavedWithoutWarmUp, type Comparison } from './comparison.ts';
import { signIn } from './dashboard-view.ts';
import { full } from './lease.ts';
import { apiKey, ServiceProcess } from './service.ts';
import { startSuite } from './suite.ts';
import { withSuites } from './suites.ts';

const leases = 1000;
const sessions = 8;
/** How long the tests are counted, in ms. */
const windowMs = 8000;
/** The service takes pictures until 6 s after the last look. */
const unwatchedMs = 7000;

const wallMeasure = `tests a second on ${sessions} workers with an open wall, against a closed one`;

/** Measures how much a closed dashboard, and an open wall, cost the service and a running suite. */
export async function cost(browser: Browser, runs: number): Promise<Comparison[]> {
  return [...(await closed(browser, runs)), await wall(browser, runs)];
}

/** Compares a service whose dashboard somebody closed with one whose dashboard nobody opened. */
async function closed(browser: Browser, runs: number): Promise<Comparison[]> {
  const memory = { ours: [] as number[], other: [] as number[] };
  const processor = await interleaved(runs, {
    ours: async () => {
      const { processorTime, megabytes } = await costOfLeases(browser, true);
      memory.ours.push(megabytes);
      return processorTime;
    },
    other: async () => {
      const { processorTime, megabytes } = await costOfLeases(browser, false);
      memory.other.push(megabytes);
      return processorTime;
    },
  });
  return [
    {
      measure: `processor time of ${leases} leases after the dashboard was closed, against one that nobody opened`,
      unit: 'ms',
      ...processor,
    },
    {
      measure: `memory after ${leases} leases and a closed dashboard, against one that nobody opened`,
      unit: 'MB',
      ...memory,
    },
  ];
}

async function costOfLeases(
  browser: Browser,
  isOpenedBefore: boolean,
): Promise<{ processorTime: number; megabytes: number }> {
  await using service = await ServiceProcess.start();
  const { client } = service;
  await client.browserPools.create({ name: 'bench', size: 1 });
  await full(client, 'bench', 1);
  if (isOpenedBefore) await withView(browser, service, 'now', async () => {});
  const before = await service.ownProcessorTime();
  for (let lease = 0; lease < leases; lease++) {
    const { session_id } = (await client.browserPools.acquire('bench', { acquire_timeout_seconds: 30 }))!;
    await client.browserPools.release('bench', { session_id, reuse: true });
  }
  return {
    processorTime: (await service.ownProcessorTime()) - before,
    megabytes: await service.memory('VmRSS'),
  };
}

/** Compares a running suite while a person looks at the pictures of its browsers with one that nobody looks at. */
export async function wall(browser: Browser, runs: number): Promise<Comparison> {
  await using service = await ServiceProcess.start();
  const environment = {
    PLAYWRIGHT_POOL_BASE_URL: service.url,
    PLAYWRIGHT_POOL_API_KEY: apiKey,
    BENCH_LEASE: JSON.stringify({ pool: { name: 'wall', size: sessions } }),
  };
  const figures = await withSuites(environment, async (suiteOf) => {
    const suite = suiteOf('wall.spec', 'ours', sessions);
    const file = suite.environment!['BENCH_TIMES']!;
    await writeFile(file, '');
    const { ended, stop } = startSuite(suite);
    try {
      return await Promise.race([
        ended.then(({ output }) => Promise.reject(new Error(`the suite ended too early:\n${output}`))),
        compareRates(() => rateOf(file)),
      ]);
    } finally {
      stop();
      await ended;
    }
  });
  return { measure: wallMeasure, unit: 'tests/s', higherIsBetter: true, ...figures };

  async function compareRates(rate: () => Promise<number>) {
    await allRun(service);
    return await interleavedWithoutWarmUp(runs, {
      ours: () =>
        withView(browser, service, 'wall', async (page) => {
          await page.locator('.thumbnail img').first().waitFor();
          return await rate();
        }),
      other: async () => {
        await setTimeout(unwatchedMs);
        return await rate();
      },
    });
  }
}

/** Waits until each worker has leased its browser. */
async function allRun({ client }: ServiceProcess): Promise<void> {
  const signal = AbortSignal.timeout(120_000);
  while ((await leasedOf(client, signal)) < sessions) await setTimeout(100, undefined, { signal });
}

async function leasedOf(client: Client, signal: AbortSignal): Promise<number> {
  for await (const pool of client.browserPools.list({}, { signal })) return pool.acquired_count;
  return 0;
}

/** The tests that end in a second. Each appends a byte to the file. */
async function rateOf(file: string): Promise<number> {
  const [started, before] = [performance.now(), (await stat(file)).size];
  await setTimeout(windowMs);
  return ((await stat(file)).size - before) / ((performance.now() - started) / 1000);
}

/** Acts while somebody looks at a view. */
async function withView<T>(
  browser: Browser,
  { url }: ServiceProcess,
  view: string,
  act: (page: Page) => Promise<T>,
): Promise<T> {
  await using context = await browser.newContext();
  const page = await context.newPage();
  await signIn(page, `${url}/#${view}`);
  return await act(page);
}
