import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { chromium } from '@playwright/test';
import { interleavedWithoutWarmUp, type Comparison } from './comparison.ts';
import { measureCurve, type Curve } from './curve.ts';
import { ServiceProcess } from './service.ts';
import { timeSuite } from './suite.ts';

export const runs = 2;

const config = 'bench/todo-replay.config.ts';

/** Measures how much longer a suite takes if each test is recorded. */
export async function run(runs: number): Promise<Comparison[]> {
  const directory = await mkdtemp(path.join(tmpdir(), 'playwright-pool-bench-'));
  const time = (mode: string) =>
    timeSuite({ config, environment: { BENCH_REPLAY: mode, PLAYWRIGHT_POOL_DATA_DIR: path.join(directory, 'data') } });
  try {
    const figures = await interleavedWithoutWarmUp(runs, { ours: () => time('on'), other: () => time('off') });
    return [
      { measure: 'examples/todo with replay at 10 frames per second, against replay off', unit: 'ms', ...figures },
    ];
  } finally {
    // The embedded service of the last run may still remove its files.
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Measures how the work of recording grows with the number of recorded browsers. */
export async function curves(): Promise<Curve[]> {
  const measure = 'processor time per second for all recordings together, by the number of recorded browsers';
  return [await measureCurve({ measure, unit: 'ms', sizes: [1, 2, 4, 8], runs: 1 }, workOfRecordings)];
}

/**
 * The processor time of service, encoder and browsers per second, in milliseconds, minus the time for the same pages
 * without recording.
 */
async function workOfRecordings(count: number): Promise<number> {
  await using service = await ServiceProcess.start();
  const { client } = service;
  const sessions = await Promise.all(Array.from({ length: count }, () => client.browsers.create({})));
  const browsers = await Promise.all(sessions.map(({ cdp_ws_url }) => chromium.connectOverCDP(cdp_ws_url)));
  try {
    for (const browser of browsers) await (await browser.newPage()).setContent(movingPage);
    const work = async () => {
      const before = await service.processorTime();
      await setTimeout(seconds * 1000);
      return ((await service.processorTime()) - before) / seconds;
    };
    const unrecorded = await work();
    await Promise.all(sessions.map(({ session_id }) => client.browsers.replays.start(session_id, { framerate: 10 })));
    return (await work()) - unrecorded;
  } finally {
    await Promise.all(browsers.map((browser) => browser.close()));
  }
}

const seconds = 5;

/** A page that changes at the frame rate of the recording. */
const movingPage = `<p>0</p><script>setInterval(() => document.querySelector('p').textContent++, 100)</script>`;
