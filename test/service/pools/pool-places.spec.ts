import { startService } from '../../../src/service/service.ts';
import { callerOf, type Call } from '../../support/service/service.ts';
import { empty } from '../../support/service/shared-service.ts';
import { expect, perWorker, test as base } from '../../support/worker.ts';

const slots = 2;
const apiKey = 'the-key';
/** Services with two slots: on its own machine, or on two machines of a control plane. */
const test = base.extend<Record<'alone' | 'plane' | 'sharedAlone' | 'sharedPlane', Call>>({
  sharedAlone: perWorker(async (use) => {
    await using service = await startService({ apiKey, maxConcurrentSessions: slots });
    await use(callerOf(service));
  }),
  sharedPlane: perWorker(async (use) => {
    await using first = await startService({ apiKey, maxConcurrentSessions: 1 });
    await using second = await startService({ apiKey, maxConcurrentSessions: 1 });
    await using control = await startService({ apiKey, machines: { from: [first.url, second.url], apiKey } });
    await use(callerOf(control));
  }),
  alone: async ({ sharedAlone: call }, use) => {
    await use(call);
    await empty(call);
  },
  plane: async ({ sharedPlane: call }, use) => {
    await use(call);
    await empty(call);
  },
});
test.describe.configure({ mode: 'default' });

const endsIdleBrowsers =
  'ends idle browsers of a pool for sessions outside pools and for other pools, and does not start them again meanwhile';

test(`a service ${endsIdleBrowsers}`, ({ alone }) => expectIdleBrowsersEnd(alone));
test(`a control plane ${endsIdleBrowsers} @long`, ({ plane }) => expectIdleBrowsersEnd(plane));

const givesPlace =
  'gives the place of a reused browser to the pool that has fewer, and among equals to the older acquire';

test(`a service ${givesPlace}`, ({ alone }) => expectPlacesGiven(alone));
test(`a control plane ${givesPlace} @long`, ({ plane }) => expectPlacesGiven(plane));

async function expectIdleBrowsersEnd(call: Call): Promise<void> {
  await createPool(call, 'idle');
  await expectCounts(call, 'idle', [slots, 0]);
  const create = () => call('POST', '/browsers', { headless: true });
  const outside = await Promise.all([create(), create()]);
  expect(outside.map(({ status }) => status)).toEqual([200, 200]);
  expect(await countsOf(call, 'idle')).toEqual([0, 0]);
  expect([429, 529]).toContain((await create()).status);
  const waiting = acquire(call, 'idle');
  const limit = "(the service's limit of 2 browsers is reached|no machine has a free slot) \\(2 outside pools\\)";
  await expect
    .poll(async () => (await call('GET', '/browser_pools/idle')).body.wait_reason)
    .toMatch(new RegExp(`^1 waiting, 0 leased.*, ${limit}: release browsers, or `));
  await call('DELETE', `/browsers/${outside[0].body.session_id}`);
  expect((await waiting).status).toBe(200);

  await call('DELETE', `/browsers/${outside[1].body.session_id}`);
  await release(call, 'idle', await waiting, true);
  await expectCounts(call, 'idle', [slots, 0]);
  await createPool(call, 'busy');
  const leased = await Promise.all([acquire(call, 'busy'), acquire(call, 'busy')]);
  expect(leased.map(({ status }) => status)).toEqual([200, 200]);
  expect(await countsOf(call, 'idle')).toEqual([0, 0]);
  await release(call, 'busy', leased[0], false);
  // The pool that was used last fills up first.
  await expectCounts(call, 'busy', [1, 1]);
  expect((await acquire(call, 'idle')).status).toBe(200);
  expect(await countsOf(call, 'busy')).toEqual([0, 1]);
}

async function expectPlacesGiven(call: Call): Promise<void> {
  await createPool(call, 'large');
  await createPool(call, 'small');
  const held = [await acquire(call, 'large'), await acquire(call, 'large')];
  const served: string[] = [];
  const wait = async (pool: string) => {
    const answer = await acquire(call, pool);
    served.push(pool);
    return answer;
  };
  const waiting: Promise<Answer>[] = [];
  for (const pool of ['large', 'large', 'small', 'small']) {
    const count = waiting.push(wait(pool));
    await expect.poll(() => waitingIn(call), quickly).toBe(count);
  }
  const turns = [
    ['large', async () => held[0]!, 'small'],
    ['large', async () => held[1]!, 'large'],
    ['small', () => waiting[2]!, 'small'],
    ['large', () => waiting[0]!, 'large'],
  ] as const;
  for (const [count, [pool, holder]] of turns.entries()) {
    await release(call, pool, await holder(), true);
    await expect.poll(() => served, quickly).toEqual(turns.slice(0, count + 1).map(([, , next]) => next));
  }
  await Promise.all(waiting);

  // A session outside takes the place of an idle browser. As the last place gets free, both pools have none in use.
  await release(call, 'small', await waiting[3]!, true);
  expect((await call('POST', '/browsers', { headless: true })).status).toBe(200);
  const older = wait('small');
  await expect.poll(() => waitingIn(call), quickly).toBe(1);
  const younger = wait('large');
  await expect.poll(() => waitingIn(call), quickly).toBe(2);
  await release(call, 'large', await waiting[1]!, true);
  await release(call, 'small', await older, true);
  await younger;
  expect(served.slice(turns.length)).toEqual(['small', 'large']);
}

test('a project at its own limit ends its own idle browsers only', async ({ alone: call }) => {
  const { body: project } = await call('POST', '/org/projects', { name: 'shop' });
  await call('PATCH', `/org/projects/${project.id}/limits`, { max_concurrent_sessions: 1 });
  const inShop: Call = (method, path, body) => call(method, path, body, { 'x-kernel-project-id': project.id });
  await createPool(call, 'others', 1);
  await createPool(inShop, 'ci', 1);
  await expectCounts(call, 'others', [1, 0]);
  await expectCounts(inShop, 'ci', [1, 0]);
  expect((await inShop('POST', '/browsers', { headless: true })).status).toBe(200);
  expect(await countsOf(inShop, 'ci')).toEqual([0, 0]);
  expect(await countsOf(call, 'others')).toEqual([1, 0]);
  expect((await inShop('POST', '/browsers', { headless: true })).status).toBe(429);
  await empty(inShop);
});

test('a pool of a service that drains says so while tests wait', async () => {
  await using service = await startService({ apiKey });
  const call = callerOf(service);
  await createPool(call, 'ci', 1);
  const lease = await acquire(call, 'ci');
  const drained = service.drain();
  expect((await call('GET', '/browser_pools/ci')).body.wait_reason).toContain('the service is about to end');
  await release(call, 'ci', lease, true);
  await drained;
});

type Answer = Awaited<ReturnType<Call>>;

const quickly = { timeout: 20_000, intervals: [50] };

async function createPool(call: Call, name: string, size = slots): Promise<void> {
  expect((await call('POST', '/browser_pools', { name, size, headless: true })).status).toBe(201);
}

async function acquire(call: Call, pool: string): Promise<Answer> {
  return await call('POST', `/browser_pools/${pool}/acquire`, { acquire_timeout_seconds: 30 });
}

async function release(call: Call, pool: string, { body }: Answer, reuse: boolean): Promise<void> {
  await call('POST', `/browser_pools/${pool}/release`, { session_id: body.session_id, reuse });
}

/** Waits until a pool has these idle and leased browsers. */
async function expectCounts(call: Call, pool: string, counts: number[]): Promise<void> {
  await expect.poll(() => countsOf(call, pool), quickly).toEqual(counts);
}

async function countsOf(call: Call, pool: string): Promise<number[]> {
  const { available_count, acquired_count } = (await call('GET', `/browser_pools/${pool}`)).body;
  return [available_count, acquired_count];
}

async function waitingIn(call: Call): Promise<number> {
  const pools = (await call('GET', '/browser_pools')).body as { waiting_count?: number }[];
  return pools.reduce((sum, { waiting_count = 0 }) => sum + waiting_count, 0);
}
