import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from '@playwright/test';
import { namedBuild, playwrightDirectory } from '../build/src/service/chromium/playwright-builds.js';
import { interleavedWithoutWarmUp, median, type Comparison } from './comparison.ts';
import type { Curve } from './curve.ts';
import { curl, makeFile } from './files.ts';
import { PageServer } from './pages.ts';
import { ServerProcess } from './server-process.ts';
import { apiKey, ServiceProcess } from './service.ts';
import { timeSuite } from './suite.ts';
import { withSuites } from './suites.ts';

export const runs = 2;
export const needs = ['curl'];

/** The ways from the fixtures to a browser: values of their option `transport`. */
const transports = ['cdp', 'playwright'];

/** Round trips to the service, in milliseconds. */
const roundTrips = [0, 20, 50, 100];
const near = 0;
const far = 100;
/** Where one transport becomes faster than the other. */
const breakEvenTrips = [0, 1, 2, 5, 10, 20];
const breakEvenRuns = 3;
const distanceRuns = 3;

export type Action = 'lease' | 'click' | 'fill' | 'page';
const names: Record<Action, string> = {
  lease: 'lease to first page',
  click: 'a click',
  fill: 'a fill',
  page: 'a new page',
};
const actions = Object.keys(names) as Action[];
const actionRuns = 5;
/** The size of a large file, in MB. */
const fileSize = 200;
const fileRuns = 3;

/** Over CDP, Playwright waits for 2 to 11 answers during these, so they have no bar. */
const manyAnswers: ReadonlySet<Action> = new Set(['click', 'fill', 'page'] as const);

type Times = Record<'suite' | Action, number[]>;

export type Place = { transport: string; roundTrip: number };

/** Compares a far service with a near one. A proxy delays the bytes to the service and back. */
export async function run(runs: number): Promise<Comparison[]> {
  const isShort = runs === 1;
  const files = isShort ? 'login.spec' : undefined;
  const comparisons: Comparison[] = [];
  for (const transport of transports) {
    const suite = await interleavedWithoutWarmUp(runs, {
      ours: () => timeTodo({ transport, roundTrip: far }, files),
      other: () => timeTodo({ transport, roundTrip: near }, files),
    });
    comparisons.push({
      measure: `examples/todo over ${transport} at ${far} ms, against ${near} ms`,
      unit: 'ms',
      ...suite,
    });
    if (transport === 'playwright') comparisons.push(addedTrips('', suite), await withEverything(runs, files));
    const times = await timeActions({ transport, roundTrip: far }, isShort ? 1 : actionRuns);
    for (const action of actions) {
      if (transport === 'cdp' && manyAnswers.has(action)) continue;
      comparisons.push({ measure: `${names[action]} over ${transport} at ${far} ms`, unit: 'ms', ours: times[action] });
    }
  }
  comparisons.push(...(await timeFiles(isShort ? 1 : fileRuns)));
  return comparisons;
}

/** Connects Playwright to a server of its own over the same distance. That serves one browser, which runs already. */
export async function limits(): Promise<Comparison[]> {
  await using pages = await PageServer.start();
  await using server = await ServerProcess.start('playwright-server.js');
  await using link = await ServerProcess.start('delaying-proxy.js', server.url, String(far / 2));
  const times: Record<Action, number[]> = { lease: [], click: [], fill: [], page: [] };
  // The first run warms up.
  for (let run = 0; run <= actionRuns; run++) {
    const started = performance.now();
    const browser = await chromium.connect(link.url.replace('http', 'ws'));
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(pages.url);
    const leased = performance.now() - started;
    await page.setContent('<button>Save</button><input>');
    // The first action of a page takes longer, and the other side measures later ones.
    await page.getByRole('button').click();
    const took: Record<Action, number> = {
      lease: leased,
      click: await timeOf(() => page.getByRole('button').click()),
      fill: await timeOf(() => page.getByRole('textbox').fill('text')),
      page: await timeOf(() => context.newPage()),
    };
    if (run > 0) for (const action of actions) times[action].push(took[action]);
    await browser.close();
  }
  return actions.map((action) => ({
    measure: `${names[action]} over playwright at ${far} ms`,
    unit: 'ms',
    ours: times[action],
  }));
}

/** Measures how times grow with the round trip, and from which one on Playwright's own protocol is faster. */
export async function curves(): Promise<Curve[]> {
  return [await breakEven(), ...(await byDistance()).map(({ curve }) => curve)];
}

/**
 * How the times of the suite and of actions grow with the round trip. Medians of interleaved runs, because other programs
 * use the machine, too.
 */
export async function byDistance(
  isShort = false,
): Promise<{ transport: string; of: 'suite' | Action; curve: Curve }[]> {
  const places = transports.flatMap((transport) =>
    (isShort ? [near, far] : roundTrips).map((roundTrip) => ({ transport, roundTrip })),
  );
  const measured = places.map((place) => ({
    place,
    times: { suite: [], lease: [], click: [], fill: [], page: [] } as Times,
  }));
  for (let run = 0; run < (isShort ? 1 : distanceRuns); run++) {
    for (const { place, times } of measured) {
      const suite = await timeTodo(place, isShort ? 'login.spec' : undefined);
      times.suite.push(suite);
      const found = await timeActions(place, isShort ? 1 : actionRuns);
      for (const action of actions) times[action].push(...found[action]);
      console.log(
        `far: examples/todo over ${place.transport} at ${place.roundTrip} ms took ${(suite / 1000).toFixed(1)} s`,
      );
    }
  }
  return transports.flatMap((transport) =>
    (['suite', ...actions] as const).map((of) => {
      const measure = `${of === 'suite' ? 'examples/todo' : names[of]} over ${transport}, by the round trip`;
      const points = measured
        .filter(({ place }) => place.transport === transport)
        .map(({ place, times }) => ({ size: place.roundTrip, cost: median(times[of]), samples: times[of] }));
      return { transport, of, curve: { measure, unit: 'ms', points, isLinear: true } };
    }),
  );
}

/** The time of the suite over Playwright's own protocol, divided by that over CDP. Medians of interleaved runs. */
export async function breakEven(): Promise<Curve> {
  const ratios = new Map<number, number[]>(breakEvenTrips.map((roundTrip) => [roundTrip, []]));
  for (let run = 0; run < breakEvenRuns; run++) {
    for (const roundTrip of breakEvenTrips) {
      const { ours, other } = await interleavedWithoutWarmUp(1, {
        ours: () => timeTodo({ transport: 'playwright', roundTrip }),
        other: () => timeTodo({ transport: 'cdp', roundTrip }),
      });
      ratios.get(roundTrip)!.push(ours[0]! / other[0]!);
    }
  }
  const points = [...ratios].map(([size, costs]) => ({ size, cost: median(costs) }));
  return {
    measure: 'examples/todo over playwright, divided by its time over cdp, by the round trip',
    unit: '',
    points,
    isLinear: true,
  };
}

/** The wall time of the suite, in milliseconds. Its application is beside the browsers. */
async function timeTodo(place: Place, files?: string, use: object = {}): Promise<number> {
  return await atDistance(place, (environment) => {
    const lease = JSON.parse(environment['BENCH_LEASE']!) as object;
    const variables = { ...environment, BENCH_LEASE: JSON.stringify({ ...lease, ...use }) };
    return timeSuite({ config: 'bench/far-todo.config.ts', ...(files && { files }), environment: variables });
  });
}

/** The suite with all artifacts. Without Playwright's ffmpeg there are no videos. */
async function withEverything(runs: number, files?: string): Promise<Comparison> {
  const build = `ffmpeg-${(await namedBuild('ffmpeg'))?.revisions[0]}`;
  const hasVideo = existsSync(path.join(playwrightDirectory(process.env), build));
  if (!hasVideo) console.log(`far: no videos, because ${build} of Playwright isn't installed`);
  const use = { trace: 'on', screenshot: 'on', ...(hasVideo && { video: 'on' }) };
  const suite = await interleavedWithoutWarmUp(runs, {
    ours: () => timeTodo({ transport: 'playwright', roundTrip: far }, files, use),
    other: () => timeTodo({ transport: 'playwright', roundTrip: near }, files, use),
  });
  return addedTrips(' with trace, screenshot and video on', suite);
}

/** The time that the distance adds, divided by the round trip. */
function addedTrips(name: string, { ours, other }: { ours: number[]; other: number[] }): Comparison {
  return {
    measure: `round trips that ${far} ms add to examples/todo over playwright${name}`,
    unit: 'round trips',
    ours: ours.map((time, run) => (time - other[run]!) / (far - near)),
  };
}

/** Each action's times in milliseconds. */
async function timeActions(place: Place, runs: number): Promise<Record<Action, number[]>> {
  const { of } = await timeSpec('far.spec', place, { BENCH_RUNS: String(runs) });
  return { lease: of('lease'), click: of('click'), fill: of('fill'), page: of('page') };
}

/** Compares the transfer of a large file between a test and its session with curl, over the same distance. */
async function timeFiles(runs: number): Promise<Comparison[]> {
  const directory = await mkdtemp(path.join(tmpdir(), 'playwright-pool-bench-'));
  const file = path.join(directory, 'file');
  try {
    await makeFile(file, fileSize);
    await using bare = await ServerProcess.start('file-server.js', path.join(directory, 'bare'));
    await using link = await ServerProcess.start('delaying-proxy.js', bare.url, String(far / 2));
    const [pushes, pulls]: [Comparison, Comparison] = [ofFile('push'), ofFile('pull')];
    for (let run = 0; run < runs; run++) {
      const times = await timeSpec('far-files', { transport: 'playwright', roundTrip: far }, { BENCH_FILE: file });
      pushes.ours.push(...times.of('push'));
      pulls.ours.push(...times.of('pull'));
      pushes.other!.push(await timeOf(() => curl('--upload-file', file, link.url)));
      pulls.other!.push(await timeOf(() => curl('--output', path.join(directory, 'copy'), link.url)));
    }
    return [pushes, pulls];
  } finally {
    await rm(directory, { recursive: true });
  }
}

function ofFile(name: string): Comparison {
  return {
    measure: `remote.files.${name} of ${fileSize} MB at ${far} ms, against curl`,
    unit: 'ms',
    ours: [],
    other: [],
  };
}

async function timeOf(act: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await act();
  return performance.now() - started;
}

/** Runs a spec file with a worker. `of` returns the times that it has measured under a name, in milliseconds. */
async function timeSpec(spec: string, place: Place, variables: Record<string, string>) {
  return await atDistance(place, (environment) =>
    withSuites({ ...environment, ...variables }, async (suite) => {
      const measured = suite(spec, 'ours', 1);
      const file = measured.environment!['BENCH_TIMES']!;
      await writeFile(file, '');
      await timeSuite(measured);
      const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
      const times = lines.map((line) => line.split(' '));
      return { of: (name: string) => times.flatMap(([of, time]) => (of === name ? [Number(time)] : [])) };
    }),
  );
}

/** Runs `act` with the environment of suites whose service is at this distance. */
export async function atDistance<T>(
  { transport, roundTrip }: Place,
  act: (environment: Record<string, string>) => Promise<T>,
  size = 2,
): Promise<T> {
  await using service = await ServiceProcess.start();
  await using proxy = await ServerProcess.start('delaying-proxy.js', service.url, String(roundTrip / 2));
  const pool = { name: 'far', size, transport };
  return await act({
    PLAYWRIGHT_POOL_BASE_URL: proxy.url,
    PLAYWRIGHT_POOL_API_KEY: apiKey,
    BENCH_LEASE: JSON.stringify({ pool }),
  });
}
