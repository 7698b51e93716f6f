import { chromium, type Browser } from '@playwright/test';
import type { Client } from 'playwright-pool/client';
import { interleaved, interleavedWithoutWarmUp, type Comparison } from './comparison.ts';
import { full, openPage } from './lease.ts';
import { PageServer } from './pages.ts';
import { apiKey, ServiceProcess } from './service.ts';
import { timeSuite } from './suite.ts';
import { withSuites, withTests } from './suites.ts';

export const runs = 15;

const pool = 'bench';
const size = 2;
const suiteRuns = 5;

/** Compares a lease by connecting to a URL with a lease by the API and the fixtures. */
export async function run(runs: number): Promise<Comparison[]> {
  await using service = await ServiceProcess.start();
  await using pages = await PageServer.start();
  const { client } = service;
  const socketUrl = service.url.replace('http', 'ws');
  await client.browserPools.create({ name: pool, size });
  await full(client, pool, size);

  const toPage = async (connect: () => Promise<{ browser: Browser; release?: () => Promise<unknown> }>) => {
    const started = performance.now();
    const { browser, release } = await connect();
    await openPage(browser, pages.url);
    const took = performance.now() - started;
    await release?.();
    await browser.close();
    await full(client, pool, size);
    return took;
  };
  const comparisons: Comparison[] = [];
  for (const protocol of ['playwright', 'cdp'] as const) {
    const open = (url: string) => (protocol === 'cdp' ? chromium.connectOverCDP(url) : chromium.connect(url));
    const leasing = `${socketUrl}/${protocol}?pool=${pool}&token=${apiKey}`;
    const times = await interleaved(runs, {
      ours: () => toPage(async () => ({ browser: await open(leasing) })),
      other: () => toPage(() => acquireAndOpen(client, protocol, open)),
    });
    comparisons.push({
      measure: `connect to first page over /${protocol}, against acquire and connect`,
      unit: 'ms',
      ...times,
    });
  }

  const environment = {
    PLAYWRIGHT_POOL_BASE_URL: service.url,
    PLAYWRIGHT_POOL_API_KEY: apiKey,
    BENCH_LEASE: JSON.stringify({ pool: { name: pool } }),
    PW_TEST_CONNECT_HEADERS: JSON.stringify({ authorization: `Bearer ${apiKey}` }),
  };
  const endpoint = { PW_TEST_CONNECT_WS_ENDPOINT: `${socketUrl}/playwright?pool=${pool}` };
  const suites = await withSuites(environment, async (suite) => {
    const tests = runs === 1 ? 20 : 200;
    const plain = withTests(suite('short', 'plain', size), tests);
    const own = withTests(suite('short', 'ours', size), tests);
    return await interleavedWithoutWarmUp(Math.min(runs, suiteRuns), {
      ours: () => timeSuite({ ...plain, environment: { ...plain.environment, ...endpoint } }),
      other: () => timeSuite(own),
    });
  });
  comparisons.push({
    measure: 'a suite of 200 short tests over /playwright, against the fixtures',
    unit: 'ms',
    ...suites,
  });
  return comparisons;
}

async function acquireAndOpen(client: Client, protocol: 'playwright' | 'cdp', open: (url: string) => Promise<Browser>) {
  const session = (await client.browserPools.acquire(pool, {}))!;
  const browser = await open(protocol === 'cdp' ? session.cdp_ws_url : session.playwright_ws_url!);
  const release = () => client.browserPools.release(pool, { session_id: session.session_id, reuse: false });
  return { browser, release };
}
