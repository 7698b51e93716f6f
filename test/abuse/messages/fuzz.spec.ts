import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { contract } from '../../../src/contract/contract.ts';
import { operationsOf } from '../../../src/contract/operation.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { dataDirectory } from '../../support/service/service.ts';
import { snapshot } from '../../support/service/session-files.ts';
import { FuzzTarget } from './fuzz-target.ts';
import { seed } from './hostile-values.ts';
import { requestsFor, type FuzzedRequest } from './fuzzed-requests.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { expect, test } from '../../support/worker.ts';

const requests = isLong ? 60_000 : 2000;
const atOnce = 8;

/** Of valid requests that start or wait for browsers, one of this many is sent. */
const costly =
  /^(browsers\.(create|update|deleteByID)|browserPools\.(create|update|delete|acquire|flush)|invocations\.create|deployments\.create|browsers\.(playwright\.execute|curl))$/;
const leftOut = isLong ? 20 : 40;

const operations = [...operationsOf(contract)];

test("hostile requests cause no 500, no answer outside the contract, no leak and no access outside a session's files @long", async ({}, testInfo) => {
  test.setTimeout(isLong ? 3_600_000 : 120_000);
  console.log(`${requests} requests with the seed ${seed}: PLAYWRIGHT_POOL_TEST_SEED=${seed} sends the same ones`);
  const canary = testInfo.outputPath('canary');
  await mkdir(canary, { recursive: true });
  await writeFile(join(canary, 'secret'), 'the canary sings');
  const before = await snapshot(canary);
  const directory = dataDirectory(testInfo);
  const tally = new Map<string, number>();
  {
    await using target = await FuzzTarget.start(directory);
    await provide(target, directory, canary);
    const measured: { memory: number; files: number }[] = [];
    let sent = 0;
    for (const batch of batches(canary)) {
      const queue = batch.values();
      const sendSome = async () => {
        for (const request of queue) await sendOne(target, request, tally);
      };
      await Promise.all(Array.from({ length: atOnce }, sendSome));
      sent += batch.length;
      await provide(target, directory, canary);
      measured.push(target.usage());
      if (isLong) console.log(`${sent} sent: ${JSON.stringify(measured.at(-1))}`);
      expect(await snapshot(canary), 'what lies outside of the session').toEqual(before);
    }
    await expectNoGrowth(target, measured);
    expect(target.cli.output).not.toMatch(/ failed, x-request-id|Error:|Warning:/);
  }
  await expectNoProcessWith(directory);
  expect(tally.get('undefined') ?? 0, 'some requests ask for long waits').toBeLessThan(requests / 5);
  console.log(JSON.stringify(Object.fromEntries([...tally].toSorted(([a], [b]) => a.localeCompare(b)))));
});

function* batches(canary: string): Generator<FuzzedRequest[]> {
  const size = 250;
  const any = fc.oneof(...operations.map(([name, operation]) => requestsFor(name, operation, canary)));
  for (let start = 0; start < requests; start += size) yield fc.sample(any, { seed: seed + start, numRuns: size });
}

let spared = 0;

async function sendOne(target: FuzzTarget, request: FuzzedRequest, tally: Map<string, number>): Promise<void> {
  if (request.isValid && costly.test(request.name) && (spared += 1) % leftOut !== 0) return;
  const sent = `${request.name}: ${request.method} ${request.path} ${JSON.stringify(request.headers)} ${Buffer.from(request.body ?? []).toString('utf8', 0, 1000)}`;
  const answer = await target.send(request).catch((error: unknown) => {
    // Another request may have handed the session over, and its old files are gone. An archive with a part of them would
    // look complete.
    if (request.name === 'browsers.fs.downloadDirZip') return undefined;
    throw new Error(`${sent}: ${String(error)}`, { cause: error });
  });
  if (!answer) return;
  const { path, status, text, violations } = answer;
  tally.set(String(status), (tally.get(String(status)) ?? 0) + 1);
  // `expect` would take longer than the request.
  if (status === 500) violations.push('the service failed');
  if (text.includes('the canary sings')) violations.push('it comes from outside of the session');
  if (violations.length > 0)
    throw new Error(`${sent}\nanswered ${status} ${text.slice(0, 1000)}: ${violations.join('; ')}`);
  if (status === undefined || status >= 300) return;
  await undo(target, request, path, text);
}

/** Keeps created ids for later requests, and ends things that cost a browser. */
async function undo(target: FuzzTarget, { method, name }: FuzzedRequest, path: string, text: string): Promise<void> {
  const collection = path.split(/[/?]/).findLast((segment) => segment !== '')!;
  const made = method === 'POST' && text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {};
  const id = made['session_id'] ?? made['id'] ?? Object.entries(made).find(([key]) => key.endsWith('_id'))?.[1];
  if (method === 'DELETE') return target.forget(path.split('/').at(-2)!, collection);
  if (/^browserPools\.(create|update|acquire)$/.test(name)) {
    const pool = name === 'browserPools.create' ? String(id) : path.split(/[/?]/)[2]!;
    target.forget('browser_pools', pool);
    await target.call('DELETE', `/browser_pools/${pool}`, { force: true });
  } else if (name === 'browsers.create') {
    await target.call('DELETE', `/browsers/${String(id)}`);
  } else if (typeof id === 'string') {
    target.keep(collection, id);
  }
}

/** Replaces things that a request has ended, such as the session and the pool. */
async function provide(target: FuzzTarget, directory: string, canary: string): Promise<void> {
  await target.call('PATCH', '/org/limits', { default_project_max_concurrent_sessions: 0 });
  const { body: sessions } = await target.call('GET', '/browsers');
  if (sessions.length === 0) {
    const { body: session } = await target.call('POST', '/browsers', { timeout_seconds: 3600 });
    target.keep('browsers', session.session_id);
    const root = join(sessionDirectory(directory, session.session_id), 'root');
    await Promise.all([
      symlink(canary, join(root, 'link')),
      symlink('../'.repeat(30) + canary.slice(1), join(root, 'climb')),
      symlink('loop', join(root, 'loop')),
      symlink('tmp', join(root, 'deep')),
    ]);
  }
  if ((await target.call('GET', '/browser_pools?name=fuzzed')).body.length === 0) {
    const { body: pool } = await target.call('POST', '/browser_pools', { size: 1, name: 'fuzzed' });
    target.keep('browser_pools', pool.id);
  }
  if (!target.has('profiles')) target.keep('profiles', (await target.call('POST', '/profiles', {})).body.id);
}

/** Compare memory only after a warm-up. */
async function expectNoGrowth(target: FuzzTarget, measured: { memory: number; files: number }[]): Promise<void> {
  const warm = measured.slice(0, Math.ceil(measured.length / 2));
  const most = (what: 'memory' | 'files') => Math.max(...warm.map((usage) => usage[what]));
  await expect.poll(() => target.usage().files, { timeout: 20_000 }).toBeLessThanOrEqual(most('files') + 10);
  expect(target.usage().memory, JSON.stringify(measured)).toBeLessThan(most('memory') * 1.3 + 60);
}
