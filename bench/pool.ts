import { setTimeout } from 'node:timers/promises';
import type { Browser } from '@playwright/test';
import type { Client } from 'playwright-pool/client';
import { interleaved, type Comparison } from './comparison.ts';
import { measureCurve, type Curve } from './curve.ts';
import { openPage, timeLease } from './lease.ts';
import { PageServer } from './pages.ts';
import { ServiceProcess } from './service.ts';
import { launchStock } from './stock.ts';

export const runs = 30;

const size = 4;
const fillings = 5;
const ofFilling = `a pool of ${size} filled, against ${size} launches in turn`;

/** Measures how long a lease takes: from a full pool, from a filling pool, and from the previous holder. */
export async function run(runs: number): Promise<Comparison[]> {
  await using service = await ServiceProcess.start();
  await using pages = await PageServer.start();
  const { client } = service;
  const filling = await interleaved(Math.min(runs, fillings), {
    ours: () => fill(client, size),
    other: () => timeLaunches(launchInTurn),
  });
  await fill(client, size);
  const began = new Date().toISOString();
  const firstPage = await interleaved(runs, {
    ours: () => timeLease(client, { pool: 'bench', size, url: pages.url }),
    other: async () => {
      const started = performance.now();
      const browser = await launchStock();
      await openPage(browser, pages.url);
      const took = performance.now() - started;
      await browser.close();
      return took;
    },
  });
  const acquires = await service.answerTimes('/acquire', began);
  return [
    { measure: 'warm lease to first page loaded, against launch to first page', unit: 'ms', ...firstPage },
    { measure: 'acquire from a full pool, inside the service', unit: 'ms', ours: acquires },
    { measure: 'release to the next waiter', unit: 'ms', ours: await handOffs(client, runs) },
    { measure: ofFilling, unit: 'ms', ...filling },
  ];
}

/** Playwright launches all browsers at once. */
export async function limits(): Promise<Comparison[]> {
  const launches = await interleaved(fillings, {
    ours: () => timeLaunches(launchAtOnce),
    other: () => timeLaunches(launchInTurn),
  });
  return [{ measure: ofFilling, unit: 'ms', ...launches }];
}

/** Measures how filling grows with the pool's size, and how handing over the only browser grows with the waiters. */
export async function curves(): Promise<Curve[]> {
  await using service = await ServiceProcess.start();
  const { client } = service;
  const filling = { measure: 'filling a pool, by its size', unit: 'ms', sizes: [1, 2, 4, 8], runs: 3 };
  const waiting = {
    measure: 'serving all that wait, by their number',
    unit: 'ms',
    sizes: [1, 2, 4, 8, 16, 32, 64],
    runs: 3,
  };
  return [
    await measureCurve(filling, (size) => fill(client, size)),
    await fill(client, 1).then(() => measureCurve(waiting, (waiters) => serveAll(client, waiters))),
  ];
}

/** How long an empty pool takes to be full, in milliseconds. */
async function fill(client: Client, size: number): Promise<number> {
  for await (const { id } of client.browserPools.list()) await client.browserPools.delete(id, { force: true });
  await quiet();
  const started = performance.now();
  await client.browserPools.create({ name: 'bench', size });
  const acquire = () => client.browserPools.acquire('bench', { acquire_timeout_seconds: 30 });
  const sessions = await Promise.all(Array.from({ length: size }, acquire));
  const took = performance.now() - started;
  await Promise.all(
    sessions.map((session) => client.browserPools.release('bench', { session_id: session!.session_id, reuse: true })),
  );
  return took;
}

async function launchInTurn(): Promise<Browser[]> {
  const browsers: Browser[] = [];
  for (let launched = 0; launched < size; launched++) browsers.push(await launchStock());
  return browsers;
}

async function launchAtOnce(): Promise<Browser[]> {
  return await Promise.all(Array.from({ length: size }, launchStock));
}

async function timeLaunches(launch: () => Promise<Browser[]>): Promise<number> {
  await quiet();
  const started = performance.now();
  const browsers = await launch();
  const took = performance.now() - started;
  await Promise.all(browsers.map((browser) => browser.close()));
  return took;
}

/** Waits until the browsers of the previous run are gone. */
async function quiet(): Promise<void> {
  await setTimeout(300);
}

/**
 * The time from the release of the only browser to the waiter's answer. Throws if the service serves a later waiter
 * first.
 */
async function handOffs(client: Client, runs: number): Promise<number[]> {
  const acquire = async () => (await client.browserPools.acquire('bench', { acquire_timeout_seconds: 30 }))!.session_id;
  const held = await Promise.all(Array.from({ length: size }, acquire));
  const took: number[] = [];
  let first = acquire();
  for (let run = 0; run < runs; run++) {
    // The first request must arrive before the second one.
    await setTimeout(20);
    const second = acquire();
    await setTimeout(20);
    const started = performance.now();
    await client.browserPools.release('bench', { session_id: held.shift()!, reuse: true });
    const served = await Promise.race([first.then(() => 'first'), second.then(() => 'second')]);
    if (served !== 'first') throw new Error('the service served a later waiter before an earlier one');
    took.push(performance.now() - started);
    held.push(await first);
    first = second;
  }
  await client.browserPools.release('bench', { session_id: held.shift()!, reuse: true });
  await first;
  return took;
}

/** Each waiter returns the only browser at once. In milliseconds, from the first release. */
async function serveAll(client: Client, waiters: number): Promise<number> {
  const acquire = async () => (await client.browserPools.acquire('bench', { acquire_timeout_seconds: 60 }))!.session_id;
  const release = (id: string) => client.browserPools.release('bench', { session_id: id, reuse: true });
  const held = await acquire();
  const served = Array.from({ length: waiters }, async () => release(await acquire()));
  // By now all of them wait.
  await setTimeout(200);
  const started = performance.now();
  await release(held);
  await Promise.all(served);
  return performance.now() - started;
}
