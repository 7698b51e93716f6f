import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { Profiler } from 'node:inspector';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pRetry from 'p-retry';
import type { Figure, Row } from './charts.ts';
import { countedTests } from './costs.ts';
import { withSuites } from './suites.ts';

type Frame = { name: string; time: number; callees: Map<string, Frame> };

/** The processes of both sides, and the programs that they run. */
const profiled = [
  { panel: 'Worker', side: 'ours', program: 'workerProcessEntry' },
  { panel: 'Worker of stock Playwright', side: 'stock', program: 'workerProcessEntry' },
  { panel: 'Service', side: 'ours', program: 'embedded' },
] as const;

/** The least part of a process's time that has a frame. */
const least = 0.02;

/** Where the processor time of a short test goes, by function. */
export async function flames(isShort: boolean): Promise<Figure[]> {
  const tests = isShort ? 20 : 200;
  const directory = await mkdtemp(path.join(tmpdir(), 'playwright-pool-bench-'));
  try {
    const rows: Row[] = [];
    await withSuites({}, async (suite) => {
      for (const { panel, side, program } of profiled) {
        const profiles = await mkdtemp(path.join(directory, 'run-'));
        const variables = {
          BENCH_PROFILES: profiles,
          NODE_OPTIONS: `--import ${new URL('profiler.js', import.meta.url).href}`,
        };
        const [from, to] = await countedTests(suite, side, tests, variables);
        const profile = await profileIn(path.join(profiles, `${program}.json`));
        rows.push(...rowsOf(framesOf(profile, from.time, to.time), panel, 1000 * tests));
      }
    });
    return [
      {
        name: 'bench-flames',
        title: 'Processor time of a short test by function',
        text: 'Sampled twice per millisecond, over CDP on one worker, with a browser on the same machine. The width of a frame is the time of a function and of those that it calls. Neighbouring frames of Node itself are one, and frames below a fiftieth of the process are left out.',
        x: 'ms per test',
        y: 'ms',
        kind: 'flame',
        rows,
      },
    ];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The service writes its profile after the run. */
async function profileIn(file: string): Promise<Profiler.Profile> {
  const read = async () => JSON.parse(await readFile(file, 'utf8')) as Profiler.Profile;
  return await pRetry(read, { retries: 60, factor: 1, minTimeout: 500 });
}

/** The merged stacks of the samples between two times in microseconds, without those of a process that waits. */
function framesOf({ nodes, samples, timeDeltas, startTime }: Profiler.Profile, from: number, to: number): Frame {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((callee) => [callee, id] as const)));
  const root: Frame = { name: '', time: 0, callees: new Map() };
  let time = startTime;
  for (const [index, sample] of samples!.entries()) {
    const took = timeDeltas![index]!;
    time += took;
    if (time < from || time > to || byId.get(sample)!.callFrame.functionName === '(idle)') continue;
    const stack: string[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = callers.get(id)) {
      const name = nameOf(byId.get(id)!.callFrame);
      if (stack[0] !== name) stack.unshift(name);
    }
    let frame = root;
    frame.time += took;
    for (const name of stack.slice(1)) {
      const callee: Frame = frame.callees.get(name) ?? { name, time: 0, callees: new Map() };
      frame.callees.set(name, callee);
      callee.time += took;
      frame = callee;
    }
  }
  return root;
}

function nameOf({ functionName, url }: Profiler.ProfileNode['callFrame']): string {
  if (functionName === '(root)' || functionName === '(program)' || functionName === '(garbage collector)')
    return functionName;
  if (url === '' || url.startsWith('node:')) return 'node';
  const library = /node_modules\/((?:@[^/]+\/)?[^/]+)\//g;
  const owner = [...url.matchAll(library)].at(-1)?.[1] ?? path.basename(url);
  return `${functionName || 'anonymous'} (${owner})`;
}

/** A row for each frame that is wide enough: its callees begin where it begins. */
function rowsOf(root: Frame, panel: string, perTest: number): Row[] {
  const rows: Row[] = [];
  const add = ({ callees }: Frame, start: number, depth: number): void => {
    let x = start;
    for (const callee of [...callees.values()].toSorted((one, other) => other.time - one.time)) {
      if (callee.time < least * root.time) continue;
      rows.push({ panel, series: callee.name, x: x / perTest, y: callee.time / perTest, depth, samples: [] });
      add(callee, x, depth + 1);
      x += callee.time;
    }
  };
  add(root, 0, 0);
  return rows;
}
