import { mkdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { drawn, type Figure, type Row } from './charts.ts';
import { flames } from './flames.ts';
import { byDistance, type Action } from './far.ts';
import { killRuns, victims } from './kills.ts';
import { machine } from './machine.ts';
import { curves as byMachines } from './machines.ts';
import { pageOf, type Data } from './page.ts';
import { launchStock } from './stock.ts';
import { measureSide, sides } from './workers.ts';

const directory = fileURLToPath(new URL('../build/bench/', import.meta.url));

const protocols: Record<string, string> = { cdp: 'over CDP', playwright: "over Playwright's own protocol" };

/** Each measures figures of one subject. */
export const parts: Record<string, (isShort: boolean) => Promise<Figure[]>> = {
  distance: measureDistance,
  workers: measureWorkers,
  waiters: measureWaiters,
  kills: measureKills,
  flames,
};

/** Measures these parts. After each one it writes a page with pictures, and the raw data beside it. A failed part doesn't stop the others. */
export async function publish(names: string[], isShort: boolean): Promise<void> {
  const data: Data = { date: new Date().toISOString(), ended: '', ...(await described()), failures: [], figures: [] };
  await rm(directory, { recursive: true, force: true });
  for (const name of names) {
    console.log(`${name}: begins, ${new Date().toISOString()}`);
    try {
      data.figures.push(...(await parts[name]!(isShort)));
    } catch (error) {
      console.error(`${name}: failed`, error);
      data.failures.push(`${name}: ${(error as Error).message.split('\n')[0]}`);
      process.exitCode = 1;
    }
    data.ended = new Date().toISOString();
    await write(data);
  }
  console.log(`written to ${directory}index.html`);
}

async function write(data: Data): Promise<void> {
  await mkdir(directory, { recursive: true });
  const pictures = await Promise.all(data.figures.map(drawn));
  for (const [index, { name }] of data.figures.entries()) await writeFile(`${directory}${name}.svg`, pictures[index]!);
  await writeFile(`${directory}data.json`, `${JSON.stringify(data, undefined, 1)}\n`);
  await writeFile(`${directory}index.html`, String(await pageOf(data, pictures)));
}

async function described() {
  const { versions, ...described } = machine();
  const browser = await launchStock();
  try {
    return { machine: described, versions: { ...versions, Chromium: browser.version() } };
  } finally {
    await browser.close();
  }
}

async function measureDistance(isShort: boolean): Promise<Figure[]> {
  const found = await byDistance(isShort);
  const panels: Record<Action, string> = { lease: 'lease to page', click: 'click', fill: 'fill', page: 'new page' };
  const x = 'round trip in ms';
  const suites = found.filter(({ of }) => of === 'suite');
  const perPoint = (y: (cost: number, near: number, size: number) => number): Row[] =>
    suites.flatMap(({ transport, curve: { points } }) =>
      points.map(({ size, cost, samples = [] }) => ({
        series: protocols[transport]!,
        x: size,
        y: y(cost, points[0]!.cost, size),
        samples: samples.map((sample) => y(sample, points[0]!.cost, size)),
      })),
    );
  const actions = found.flatMap(({ transport, of, curve }): Row[] =>
    of === 'suite'
      ? []
      : curve.points.map(({ size, cost, samples = [] }) => ({
          panel: panels[of],
          series: protocols[transport]!,
          x: size,
          y: cost,
          samples,
        })),
  );
  return [
    {
      name: 'bench-suite-time',
      title: 'Time of examples/todo by distance',
      text: 'Medians of three runs with two workers and a running service. A proxy delays the bytes of each direction by half of the round trip. The application is beside the browsers.',
      x,
      y: 'seconds',
      kind: 'line',
      rows: perPoint((cost) => cost / 1000),
    },
    {
      name: 'bench-suite-round-trips',
      title: 'Round trips in the time of examples/todo',
      text: 'The median time of the same runs minus that at 0 ms, divided by the round trip. Single runs differ by a second, which is 50 round trips at 20 ms, and 10 at 100 ms.',
      x,
      y: 'round trips',
      kind: 'line',
      rows: perPoint((cost, near, size) => (cost - near) / size).filter(({ x }) => x !== 0),
    },
    {
      name: 'bench-actions',
      title: 'Time of an action by distance',
      text: 'Medians of the same action: five times in one test, in each of three runs.',
      x,
      y: 'ms',
      kind: 'line',
      rows: actions,
    },
  ];
}

async function measureWorkers(isShort: boolean): Promise<Figure[]> {
  const perSecond: Row[] = [];
  const perTest: Row[] = [];
  const full: Row[] = [];
  const capacity = 1000 * machine().cores;
  for (const side of Object.keys(sides)) {
    const { time, processorTime, runs } = await measureSide(side, isShort ? [1] : undefined);
    for (const run of runs.slice(1)) {
      const y = run.tests / (run.time / 1000);
      perSecond.push({ series: side, x: run.workers, y, samples: [y] });
      console.log(`workers: ${side}, ${run.workers}: ${y.toFixed(2)} tests per second`);
    }
    const samples = runs.map(({ processorTime }) => processorTime);
    perTest.push({ series: side, x: 'a test', y: processorTime, samples });
    full.push({ series: side, x: 'full', y: (capacity / processorTime) * (time / 1000), samples: [time] });
  }
  return [
    {
      name: 'bench-workers',
      title: 'Tests per second by workers',
      text: 'Measured: whole runs of 10 tests per worker, which wait for 0.25 to 0.48 s each. Browsers, service and runner share this machine here, also if they are elsewhere in the picture. So this picture shows how one machine that does everything saturates.',
      x: 'workers',
      y: 'tests per second',
      kind: 'line',
      rows: perSecond,
    },
    {
      name: 'bench-runner-processor-time',
      title: "Processor time of a test on its runner's machine",
      text: "The processor time of the runner and its workers, and of the browsers that they started. It doesn't depend on the machine of the other browsers. A run with one worker and 10 tests minus a run with one test, divided by 9. The samples are the whole runs: 1 test, then 10 tests for each of 1, 2, 4 and 8 workers.",
      x: '',
      y: 'ms',
      kind: 'bar',
      rows: perTest,
    },
    {
      name: 'bench-workers-full',
      title: `Workers that fill ${machine().cores} cores`,
      text: "Computed: the processor time of the cores in a second, divided by the processor time of a test on its runner's machine, times the time that a test takes with one worker. The sample is that time in ms. The start of runner and workers isn't in it, and neither is memory.",
      x: '',
      y: 'workers',
      kind: 'bar',
      rows: full,
    },
  ];
}

async function measureWaiters(isShort: boolean): Promise<Figure[]> {
  const [acquire, handOff] = await (isShort ? byMachines([1], 2) : byMachines());
  const rows = [acquire!, handOff!].flatMap(({ points }, index) =>
    points.map(({ size, cost, samples = [] }) => ({
      series: ['an acquire that finds an idle browser', 'a release to the next waiter'][index]!,
      x: `${size * 50} waiters`,
      y: cost,
      samples,
    })),
  );
  return [
    {
      name: 'bench-waiters',
      title: 'p99 in a control plane with many waiters',
      text: 'A control plane with 1, 10 and 100 simulated machines. Each has 20 sessions, for which 50 acquires wait. For 20 s, 50 browsers per second go to the next waiter, and 50 per second come from a pool with idle ones.',
      x: '',
      y: 'ms',
      kind: 'bar',
      rows,
    },
  ];
}

async function measureKills(isShort: boolean): Promise<Figure[]> {
  const seed = Date.now() % 1_000_000;
  const kills = await killRuns(isShort ? 2 : 20, seed);
  const stages = { before: 'before the kill', afterReaper: 'after the reaper', afterTimeout: 'after the timeout' };
  const rows = victims.flatMap((victim) =>
    (Object.keys(stages) as (keyof typeof stages)[]).map((stage): Row => {
      const samples = kills.filter((kill) => kill.victim === victim).map((kill) => kill[stage]);
      return { series: stages[stage], x: victim, y: samples.reduce((sum, leased) => sum + leased, 0), samples };
    }),
  );
  const times = kills.map(({ victim, afterMs }) => `${victim} at ${afterMs} ms`).join(', ');
  return [
    {
      name: 'bench-kills',
      title: 'Leased browsers of killed runs',
      text: `The sum over ${kills.length} runs with two workers. SIGKILL came at a random time after both workers had started. Without its reaper, a run leaves leases until their idle timeout of 10 s. Seed ${seed}: ${times}.`,
      x: 'killed by SIGKILL',
      y: 'leases',
      kind: 'bar',
      rows,
    },
  ];
}
