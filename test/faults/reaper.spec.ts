import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { abandonedRuns, isAbandoned } from '../../src/reaper/abandoned.ts';
import { ReaperConnection, reaperSocket, tryConnect } from '../../src/reaper/holder.ts';
import { Ledger, type LedgerEntry } from '../../src/reaper/ledger.ts';
import { Reaper } from '../../src/reaper/reaper.ts';
import { expect, test as base } from '../support/runs/pool-run.ts';

// The reaper's work after its run has ended, for all answers of the service; and how it finds out that a process has
// ended.

// No process has such a high id.
const [runner, earlierRunner, worker] = [5_000_001, 5_000_002, 5_000_003];

type Fixtures = {
  /** Makes the directory of a run, beside those of other runs. */
  directoryOf: (run: string) => string;
  /** The ledger of the run. */
  ledger: Ledger;
  /** Starts a service that answers with JSON. */
  answering: (answer: (request: IncomingMessage) => unknown) => Promise<string>;
  /** The run's reaper, and the path at which it listens. */
  listening: { reaper: Reaper; path: string };
  /** Runs the reaper for a worker that used this service. The worker and its runner have ended. */
  reap: (baseURL: string, flush?: string) => Promise<void>;
};

const test = base.extend<Fixtures>({
  directoryOf: async ({}, use) => {
    // A socket's path is limited to about 100 characters.
    const parent = mkdtempSync(join(tmpdir(), 'playwright-pool-runs-'));
    await use((run) => {
      mkdirSync(join(parent, run));
      return join(parent, run);
    });
    rmSync(parent, { recursive: true });
  },

  ledger: async ({ directoryOf }, use) => use(new Ledger(directoryOf(`run-${runner}`))),

  answering: async ({ serve }, use) => {
    await use((answer) =>
      serve((request, response) => {
        response.setHeader('content-type', 'application/json').end(JSON.stringify(answer(request)));
      }),
    );
  },

  listening: async ({ ledger }, use) => {
    const reaper = new Reaper(ledger);
    const path = reaperSocket(ledger.directory);
    await reaper.listen(path);
    await use({ reaper, path });
  },

  reap: async ({ listening: { reaper, path } }, use) => {
    await use(async (baseURL, flush) => {
      const connection = await hold(path, 'of-this-process', baseURL, flush);
      connection[Symbol.dispose]();
      await reaper.watch(runner);
    });
  },
});

function entryAt(baseURL: string, more: Partial<LedgerEntry> = {}): LedgerEntry {
  const holder = `${runner}:0:${worker}`;
  return {
    event: 'acquired',
    lease: 'the-lease',
    holder,
    at: 1,
    service: { baseURL },
    pool: 'ci',
    sessionId: 'the-session',
    ...more,
  };
}

/** Connects a worker that uses the service, and waits for the reaper's answer. */
async function hold(path: string, holder: string, baseURL: string, flush?: string): Promise<ReaperConnection> {
  const connection = new ReaperConnection((await tryConnect(path))!);
  const service = { baseURL, apiKey: 'the-key' };
  await connection.hold({ holder, service, ...(flush && { flush }) }, AbortSignal.timeout(10_000));
  return connection;
}

const session = { session_id: 'the-session', tags: { 'playwright-pool.lease': 'the-lease' } };

test('the reaper destroys a browser that was granted after its worker had ended', async ({ serve, ledger, reap }) => {
  let looks = 0;
  const released: unknown[] = [];
  const url = await serve((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET') return response.end(JSON.stringify(looks++ === 0 ? [] : [session]));
    released.push(request.url);
    return request
      .on('data', (body: Buffer) => released.push(JSON.parse(body.toString())))
      .on('end', () => response.end('{}'));
  });
  ledger.append(entryAt(url, { event: 'asked', until: Date.now() + 60_000 }));
  await reap(url);
  expect(released).toEqual(['/browser_pools/ci/release', { session_id: 'the-session', reuse: false }]);
  expect(existsSync(ledger.directory)).toBe(false);
});

test("the reaper returns only an ended worker's leases", async ({ answering, ledger, listening: { reaper, path } }) => {
  const sessions = ['one', 'two'].map((lease) => ({
    session_id: `of-${lease}`,
    tags: { 'playwright-pool.lease': lease },
  }));
  const url = await answering(({ method }) => (method === 'GET' ? sessions : {}));
  for (const holder of ['two', 'one']) ledger.append(entryAt(url, { lease: holder, holder }));
  const [one, two] = [await hold(path, 'one', url), await hold(path, 'two', url)];
  one[Symbol.dispose]();
  await expect.poll(() => ledger.open().map(({ lease }) => lease)).toEqual(['two']);
  two[Symbol.dispose]();
  await reaper.watch(runner);
  expect(existsSync(ledger.directory)).toBe(false);
});

test('the reaper outlives workers that are killed in the middle of a message or before they read its answer', async ({
  answering,
  ledger,
  listening: { reaper, path },
}) => {
  const url = await answering(() => []);
  const inMiddle = (await tryConnect(path))!;
  inMiddle.end('{"holder":');
  await once(inMiddle.resume(), 'close');
  // The end of a connection resets it if an answer is unread.
  const withoutReading = new Socket().pause().connect(path);
  withoutReading.write(`${JSON.stringify({ holder: 'killed', service: { baseURL: url, apiKey: 'the-key' } })}\n`);
  await once(withoutReading, 'connect');
  const before = await hold(path, 'before', url);
  withoutReading.destroy();
  await once(withoutReading, 'close');
  const after = await hold(path, 'after', url);
  for (const connection of [before, after]) connection[Symbol.dispose]();
  await reaper.watch(runner);
  expect(existsSync(ledger.directory)).toBe(false);
});

test('the reaper retries if the service is briefly unreachable', async ({ answering, ledger, reap }) => {
  let calls = 0;
  const url = await answering(({ socket }) => (calls++ < 5 ? void socket.destroy() : []));
  ledger.append(entryAt(url));
  await reap(url);
  expect(existsSync(ledger.directory)).toBe(false);
});

test('the reaper counts browsers that vanished or were never granted as returned', async ({ serve, ledger, reap }) => {
  const released: (string | undefined)[] = [];
  const url = await serve((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET') return response.end(JSON.stringify([session]));
    released.push(request.url);
    return response.writeHead(404).end(JSON.stringify({ code: 'not_found', message: 'it has ended meanwhile' }));
  });
  const until = Date.now() + 60_000;
  ledger.append(entryAt(url, { until }));
  ledger.append(entryAt(url, { lease: 'ended before', until }));
  ledger.append(entryAt(url, { lease: 'never granted', event: 'asked', until: 1 }));
  await reap(url);
  expect(existsSync(ledger.directory)).toBe(false);
  expect(released).toEqual(['/browser_pools/ci/release']);
});

test("leaves leases in the ledger for a later run if no worker of this run had the service's key", async ({
  answering,
  ledger,
  reap,
}) => {
  const url = await answering(() => []);
  const elsewhere = entryAt('http://elsewhere.invalid', { lease: 'elsewhere' });
  for (const entry of [entryAt(url), elsewhere]) ledger.append(entry);
  await reap(url);
  expect(ledger.open()).toEqual([elsewhere]);
});

test('before it ends, the reaper also returns the leases of earlier runs', async ({ directoryOf, serve, reap }) => {
  const url = await serve((_, response) => {
    setTimeout(() => response.setHeader('content-type', 'application/json').end('[]'), 300);
  });
  const earlier = new Ledger(directoryOf(`run-${earlierRunner}`));
  earlier.append(entryAt(url));
  // All browsers of an embedded service end with its process.
  const embedded = { baseURL: 'http://127.0.0.1:9', pid: worker };
  earlier.append(entryAt(embedded.baseURL, { lease: 'embedded', service: embedded }));
  await reap(url);
  expect(existsSync(earlier.directory)).toBe(false);
});

test("the reaper doesn't flush the pool of a service that ended with the run", async ({ answering, ledger, reap }) => {
  const url = await answering(({ socket }) => void socket.destroy());
  await reap(url, 'ci');
  expect(existsSync(ledger.directory)).toBe(false);
});

test('the reaper counts the leases of two runs of one runner process separately', ({ ledger }) => {
  for (const at of [1, 2, 3]) ledger.append(entryAt('http://x.invalid', { lease: `of-${at}`, at }));
  for (const at of [1, 2]) ledger.append(entryAt('http://x.invalid', { lease: `of-${at}`, at, event: 'released' }));
  expect(ledger.count(2)).toEqual({ acquired: 2, released: 1, leaked: 1 });
});

test("a run without runner, workers and reaper is abandoned; other directories aren't", async ({ directoryOf }) => {
  const of = (run: string, entry = entryAt('http://x.invalid')) => {
    const directory = directoryOf(run);
    new Ledger(directory).append(entry);
    // Before all of its leases have ended.
    utimesSync(directory, 0, 0);
    return directory;
  };
  const [gone, other] = [of(`run-${runner}`), of('not-a-run')];
  const ofWorker = entryAt('http://x.invalid', { holder: `${earlierRunner}:0:${process.pid}` });
  const hasWorker = of(`run-${earlierRunner}`, ofWorker);
  const hasRunner = of(`run-${process.pid}`);
  const hasReaper = of(`run-${worker}`);
  const reaper = createServer().listen(reaperSocket(hasReaper));
  await once(reaper, 'listening');
  const runs = await abandonedRuns(other);
  expect(runs.map(({ ledger, isForgotten }) => [ledger.directory, isForgotten])).toEqual([[gone, true]]);
  const answers = await Promise.all([gone, other, hasWorker, hasRunner, hasReaper].map(isAbandoned));
  expect(answers).toEqual([true, false, false, false, false]);
  reaper.close();
});
