import { setTimeout } from 'node:timers/promises';
import { chromium, type Browser } from '@playwright/test';
import type { Client } from 'playwright-pool/client';
import { interleaved, type Comparison } from './comparison.ts';
import { measureCurve, type Curve } from './curve.ts';
import { PageServer } from './pages.ts';
import { ServiceProcess } from './service.ts';
import { launchStock } from './stock.ts';

export const runs = 30;

const size = 4;
const fillings = 5;
const ofFilling = `a pool of ${size} filled, against ${size} launches in turn`;

/** What it takes to have a browser: from a full pool, from one that is being filled, and from the hand of the holder before. */
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
    ours: async () => {
      const started = performance.now();
      const session = (await client.browserPools.acquire('bench', {}))!;
      const browser = await chromium.connectOverCDP(session.cdp_ws_url);
      await openPage(browser, pages.url);
      const took = performance.now() - started;
      await client.browserPools.release('bench', { session_id: session.session_id, reuse: false });
      await browser.close();
      await full(client, size);
      return took;
    },
    other: async () => {
      const started = performance.now();
      const browser = await launchStock();
      await openPage(browser, pages.url);
      const took = performance.now() - started;
      await browser.close();
      return took;
    },
  });
  const acquires = await timesInside(client, '/acquire', began);
  return [
    { measure: 'warm lease to first page loaded, against launch to first page', unit: 'ms', ...firstPage },
    { measure: 'acquire from a full pool, inside the service', unit: 'ms', ours: acquires },
    { measure: 'release to the next waiter', unit: 'ms', ours: await handOffs(client, runs) },
    { measure: ofFilling, unit: 'ms', ...filling },
  ];
}

/** All launched at once, by Playwright itself. */
export async function limits(): Promise<Comparison[]> {
  const launches = await interleaved(fillings, { ours: () => timeLaunches(launchAtOnce), other: () => timeLaunches(launchInTurn) });
  return [{ measure: ofFilling, unit: 'ms', ...launches }];
}

/** How filling grows with the pool, and handing its one browser on with those who wait for it. */
export async function curves(): Promise<Curve[]> {
  await using service = await ServiceProcess.start();
  const { client } = service;
  const filling = { measure: 'filling a pool, by its size', unit: 'ms', sizes: [1, 2, 4, 8], runs: 3 };
  const waiting = { measure: 'serving all that wait, by their number', unit: 'ms', sizes: [1, 2, 4, 8, 16, 32, 64], runs: 3 };
  return [
    await measureCurve(filling, (size) => fill(client, size)),
    await fill(client, 1).then(() => measureCurve(waiting, (waiters) => serveAll(client, waiters))),
  ];
}

/** What the service itself says that answering took it, in whole milliseconds. */
async function timesInside(client: Client, search: string, start: string): Promise<number[]> {
  // Its records are stored every 100 ms.
  await setTimeout(500);
  const times: number[] = [];
  const query = { start, end: new Date().toISOString(), method: 'POST', search };
  for await (const { duration_ms } of client.auditLogs.list(query)) times.push(duration_ms);
  return times;
}

async function openPage(browser: Browser, url: string): Promise<void> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(url);
}

/** How long the pool takes to be full, in milliseconds, from nothing. */
async function fill(client: Client, size: number): Promise<number> {
  for await (const { id } of client.browserPools.list()) await client.browserPools.delete(id, { force: true });
  await quiet();
  const started = performance.now();
  await client.browserPools.create({ name: 'bench', size });
  const acquire = () => client.browserPools.acquire('bench', { acquire_timeout_seconds: 30 });
  const sessions = await Promise.all(Array.from({ length: size }, acquire));
  const took = performance.now() - started;
  await Promise.all(sessions.map((session) => client.browserPools.release('bench', { session_id: session!.session_id, reuse: true })));
  return took;
}

async function full(client: Client, size: number): Promise<void> {
  const signal = AbortSignal.timeout(30_000);
  while ((await client.browserPools.retrieve('bench', { signal })).available_count < size) await setTimeout(5);
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

/** Until the browsers of the run before are gone. */
async function quiet(): Promise<void> {
  await setTimeout(300);
}

/** From the release of the last free browser to the waiter's answer. Throws where a later waiter is served before an earlier one. */
async function handOffs(client: Client, runs: number): Promise<number[]> {
  const acquire = async () => (await client.browserPools.acquire('bench', { acquire_timeout_seconds: 30 }))!.session_id;
  const held = await Promise.all(Array.from({ length: size }, acquire));
  const took: number[] = [];
  let first = acquire();
  for (let run = 0; run < runs; run++) {
    // The one request is on its way before the other.
    await setTimeout(20);
    const second = acquire();
    await setTimeout(20);
    const started = performance.now();
    await client.browserPools.release('bench', { session_id: held.shift()!, reuse: true });
    const served = await Promise.race([first.then(() => 'first'), second.then(() => 'second')]);
    if (served !== 'first') throw new Error('a waiter was served before one that had come earlier');
    took.push(performance.now() - started);
    held.push(await first);
    first = second;
  }
  await client.browserPools.release('bench', { session_id: held.shift()!, reuse: true });
  await first;
  return took;
}

/** Each gives the only browser back as soon as it has it. In milliseconds, from the first release. */
async function serveAll(client: Client, waiters: number): Promise<number> {
  const acquire = async () => (await client.browserPools.acquire('bench', { acquire_timeout_seconds: 60 }))!.session_id;
  const release = (id: string) => client.browserPools.release('bench', { session_id: id, reuse: true });
  const held = await acquire();
  const served = Array.from({ length: waiters }, async () => release(await acquire()));
  // All of them are waiting by then.
  await setTimeout(200);
  const started = performance.now();
  await release(held);
  await Promise.all(served);
  return performance.now() - started;
}
