import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { connectReaper, type ReaperConnection } from '../../src/reaper/holder.ts';
import { setEnvironment } from '../support/processes/environment.ts';
import { processesWith } from '../support/processes/processes.ts';
import { expect, test as base } from '../support/worker.ts';

type Fixtures = {
  /** A run whose reaper records its start. The run ends with the test. */
  run: { directory: string; connect(): Promise<ReaperConnection>; starts(): number; variables(): string[] };
};

/** Workers start another reaper if the first one doesn't listen after this time, in milliseconds. */
const startTime = 2000;
const program = pathToFileURL(join(import.meta.dirname, '../../dist/src/reaper/main.js')).href;

const test = base.extend<Fixtures>({
  run: async ({}, use, testInfo) => {
    // A socket's path is limited to about 100 characters.
    const directory = mkdtempSync(join(tmpdir(), 'playwright-pool-run-'));
    const [starts, variables, reaper] = ['starts', 'variables', 'reaper.mjs'].map((name) =>
      testInfo.outputPath(name),
    ) as [string, string, string];
    writeFileSync(starts, '');
    writeFileSync(
      reaper,
      `import { appendFileSync, writeFileSync } from 'node:fs';
       appendFileSync(${JSON.stringify(starts)}, '.');
       writeFileSync(${JSON.stringify(variables)}, JSON.stringify(Object.keys(process.env)));
       await import(${JSON.stringify(program)});`,
    );
    // The runner also ends with this process: its stdin closes.
    const runner = spawn(process.execPath, ['--eval', 'process.stdin.resume()'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const connections: ReaperConnection[] = [];
    const connect = async () => {
      const connection = await connectReaper({
        directory,
        runnerPid: runner.pid!,
        reaper,
        signal: AbortSignal.timeout(20_000),
      });
      connections.push(connection);
      return connection;
    };
    await use({
      directory,
      connect,
      starts: () => readFileSync(starts, 'utf8').length,
      variables: () => JSON.parse(readFileSync(variables, 'utf8')) as string[],
    });
    for (const connection of connections) connection[Symbol.dispose]();
    runner.kill();
    await once(runner, 'exit');
    await expect.poll(() => existsSync(directory), { timeout: 10_000 }).toBe(false);
  },
});

test('workers that begin together start a single reaper', async ({ run }) => {
  const began = performance.now();
  await Promise.all([run.connect(), run.connect(), run.connect()]);
  expectSingle(run.starts(), began);
});

test('a worker waits a limited time for one that was killed while it started the reaper @long', async ({ run }) => {
  const began = performance.now();
  writeFileSync(join(run.directory, 'reaper.starting'), '');
  await Promise.all([run.connect(), run.connect()]);
  expectSingle(run.starts(), began + startTime);
});

test("reports the path of the reaper's program if it doesn't start", async ({}, testInfo) => {
  const reaper = testInfo.outputPath('nowhere.js');
  const directory = testInfo.outputDir;
  mkdirSync(directory, { recursive: true });
  const connecting = connectReaper({ directory, runnerPid: process.pid, reaper, signal: AbortSignal.timeout(100) });
  await expect(connecting).rejects.toThrow(
    `The process that returns leased browsers after a crash did not start (${reaper})`,
  );
});

test('the reaper survives SIGHUP, SIGINT and SIGTERM, as at a shutdown of the machine @long', async ({ run }) => {
  const connection = await run.connect();
  const reapers = () => processesWith(` ${run.directory} `);
  // If it was slow, a second one has started and ends at once.
  await expect.poll(() => reapers().length).toBe(1);
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.kill(reapers()[0]!, signal);
  const service = { baseURL: 'http://127.0.0.1:9', apiKey: 'the-key' };
  // The reaper answers, so it still runs.
  await connection.hold({ holder: 'of-this-process', service }, AbortSignal.timeout(10_000));
});

test("the reaper's environment has no secrets", async ({ run }) => {
  using _ = setEnvironment({ PLAYWRIGHT_POOL_API_KEY: 'the-key' });
  await run.connect();
  expect(run.variables()).toContain('PATH');
  expect(run.variables()).not.toContain('PLAYWRIGHT_POOL_API_KEY');
});

/** Expects one start of a reaper since `began`, and at most another one for each time that it was too slow. */
function expectSingle(starts: number, began: number): void {
  expect(starts).toBeGreaterThanOrEqual(1);
  expect(starts).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / startTime));
}
