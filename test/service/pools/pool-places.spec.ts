import { expect, test as base } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import { callerOf, type Call } from '../../support/service/service.ts';

const slots = 2;
const apiKey = 'the-key';

/** A service with two slots: on its own machine, or on two machines of a control plane. */
const places = {
  'a service': base.extend<{ call: Call }>({
    call: async ({}, use) => {
      await using service = await startService({ apiKey, maxConcurrentSessions: slots });
      await use(callerOf(service));
    },
  }),
  'a control plane': base.extend<{ call: Call }>({
    call: async ({}, use) => {
      await using first = await startService({ apiKey, maxConcurrentSessions: 1 });
      await using second = await startService({ apiKey, maxConcurrentSessions: 1 });
      await using service = await startService({ apiKey, machines: { from: [first.url, second.url], apiKey } });
      await use(callerOf(service));
    },
  }),
};

for (const [kind, test] of Object.entries(places))
  test.describe(kind, () => {
    test('ends idle browsers of a pool for an acquire of another pool, and does not start them again meanwhile', async ({
      call,
    }) => {
      await createPool(call, 'idle');
      await expect.poll(() => countsOf(call, 'idle'), { timeout: 20_000 }).toEqual([slots, 0]);
      await createPool(call, 'busy');
      const [first, second] = await Promise.all([acquire(call, 'busy'), acquire(call, 'busy')]);
      expect([first.status, second.status]).toEqual([200, 200]);
      expect(await countsOf(call, 'idle')).toEqual([0, 0]);
      await release(call, 'busy', first, false);
      // The pool that was used last fills up first.
      await expect.poll(() => countsOf(call, 'busy'), { timeout: 20_000 }).toEqual([1, 1]);
      const back = await acquire(call, 'idle');
      expect(back.status).toBe(200);
      expect(await countsOf(call, 'busy')).toEqual([0, 1]);
    });

    test('ends idle browsers of a pool for sessions outside pools, and refuses one if all are in use', async ({
      call,
    }) => {
      await createPool(call, 'ci');
      await expect.poll(() => countsOf(call, 'ci'), { timeout: 20_000 }).toEqual([slots, 0]);
      const create = () => call('POST', '/browsers', { headless: true });
      const [first, second] = await Promise.all([create(), create()]);
      expect([first.status, second.status]).toEqual([200, 200]);
      expect(await countsOf(call, 'ci')).toEqual([0, 0]);
      const refused = await create();
      expect([429, 529]).toContain(refused.status);
      const waiting = acquire(call, 'ci');
      await expect
        .poll(async () => (await call('GET', '/browser_pools/ci')).body.wait_reason)
        .toMatch(
          /^1 waiting, 0 leased.*, (the service's limit of 2 browsers is reached|no machine has a free slot) \(2 outside pools\): release browsers, or /,
        );
      await call('DELETE', `/browsers/${first.body.session_id}`);
      expect((await waiting).status).toBe(200);
    });

    test('gives the place of a reused browser to the pool that has fewer, and among equals to the older acquire', async ({
      call,
    }) => {
      await createPool(call, 'large');
      await createPool(call, 'small');
      const held = [await acquire(call, 'large'), await acquire(call, 'large')];
      const served: string[] = [];
      const wait = async (pool: string) => {
        const answer = await acquire(call, pool);
        served.push(pool);
        return { pool, answer };
      };
      const waiting = [];
      for (const pool of ['large', 'large', 'small', 'small']) {
        waiting.push(wait(pool));
        const count = waiting.length;
        await expect.poll(() => waitingIn(call)).toBe(count);
      }
      await release(call, 'large', held[0]!, true);
      await expect.poll(() => served).toEqual(['small']);
      await release(call, 'large', held[1]!, true);
      await expect.poll(() => served).toEqual(['small', 'large']);
      const [large, , small] = waiting;
      await release(call, 'small', (await small!).answer, true);
      await expect.poll(() => served).toEqual(['small', 'large', 'small']);
      await release(call, 'large', (await large!).answer, true);
      await Promise.all(waiting);
      expect(served).toEqual(['small', 'large', 'small', 'large']);
    });
  });

places['a service']('a project at its own limit ends its own idle browsers only', async ({ call }) => {
  const { body: project } = await call('POST', '/org/projects', { name: 'shop' });
  await call('PATCH', `/org/projects/${project.id}/limits`, { max_concurrent_sessions: 1 });
  const inShop: Call = (method, path, body) => call(method, path, body, { 'x-kernel-project-id': project.id });
  await createPool(call, 'others', 1);
  await createPool(inShop, 'ci', 1);
  await expect.poll(() => countsOf(call, 'others'), { timeout: 20_000 }).toEqual([1, 0]);
  await expect.poll(() => countsOf(inShop, 'ci'), { timeout: 20_000 }).toEqual([1, 0]);
  expect((await inShop('POST', '/browsers', { headless: true })).status).toBe(200);
  expect(await countsOf(inShop, 'ci')).toEqual([0, 0]);
  expect(await countsOf(call, 'others')).toEqual([1, 0]);
  expect((await inShop('POST', '/browsers', { headless: true })).status).toBe(429);
});

base('a pool of a service that drains says so while tests wait', async () => {
  await using service = await startService({ apiKey });
  const call = callerOf(service);
  await createPool(call, 'ci');
  const lease = await acquire(call, 'ci');
  const drained = service.drain();
  expect((await call('GET', '/browser_pools/ci')).body.wait_reason).toContain('the service is about to end');
  await release(call, 'ci', lease, true);
  await drained;
});

type Answer = Awaited<ReturnType<Call>>;

async function createPool(call: Call, name: string, size = slots): Promise<void> {
  expect((await call('POST', '/browser_pools', { name, size, headless: true })).status).toBe(201);
}

async function acquire(call: Call, pool: string): Promise<Answer> {
  return await call('POST', `/browser_pools/${pool}/acquire`, { acquire_timeout_seconds: 30 });
}

async function release(call: Call, pool: string, { body }: Answer, reuse: boolean): Promise<void> {
  await call('POST', `/browser_pools/${pool}/release`, { session_id: body.session_id, reuse });
}

/** The idle and the leased browsers of a pool. */
async function countsOf(call: Call, pool: string): Promise<number[]> {
  const { available_count, acquired_count } = (await call('GET', `/browser_pools/${pool}`)).body;
  return [available_count, acquired_count];
}

async function waitingIn(call: Call): Promise<number> {
  const pools = (await call('GET', '/browser_pools')).body as { waiting_count?: number }[];
  return pools.reduce((sum, { waiting_count = 0 }) => sum + waiting_count, 0);
}
