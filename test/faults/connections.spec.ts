import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fault, FaultProxy } from '../support/http/fault-proxy.ts';
import { isLong } from '../support/processes/long-form.ts';
import { expectOneHolderEach } from '../support/runs/fault-runs.ts';
import { expect, expectOutput, statusesOf, test } from './suite-runs.ts';

// Faults of calls to the service lose no browser, and no test notices them.

const acquire = /^POST .*\/acquire$/;
const release = /^POST .*\/release$/;

/** The faults of some calls, in their order. */
type Faults = [request: RegExp, ...faults: Fault[]][];

function plan(faultProxy: FaultProxy, faults: Faults): void {
  for (const [request, ...planned] of faults) faultProxy.plan(request, ...planned);
}

test('leases a browser if calls are reset, cut off, slow or refused as busy', async ({ startSuite, faultProxy }) => {
  const busy = [429, 503].map((status) => ({ status, retryAfter: 1 }));
  plan(faultProxy, [
    [acquire, 'refused', 'unanswered', 'truncated', 'slow', ...busy],
    [release, 'refused', 'unanswered', 'truncated', { status: 502, retryAfter: 0 }, 'slow'],
  ]);
  const run = startSuite('five', faultProxy.url, {
    pool: `release: 'reuse', acquireTimeout: 20_000`,
    more: `poolLease: 'test'`,
  });
  const { stats, output } = await run.finished();
  expect(stats).toMatchObject({ passed: 5, failed: 0 });
  expect(faultProxy.happened).toHaveLength(11);
  // Calls that certainly or possibly didn't reach the service.
  expect(output.match(/could not be given back yet/g)).toHaveLength(2);
  expect(output).toContain('leases: 5 acquired, 5 released, 0 leaked');
  expectOneHolderEach(run.directory);
});

const cases: Record<string, { suite?: string; faults: Faults; pool?: string; more?: string; told?: string }> = {
  'creates the pool of a run although calls and answers are lost @long': {
    faults: [
      [acquire, 'refused', 'refused'],
      [/^POST .*\/browser_pools$/, 'refused', 'unanswered'],
    ],
  },
  'returns browsers to which no connection is possible, and leases others @long': {
    faults: [[/^GET .*\/(cdp|playwright)/, 'refused', 'refused']],
    pool: 'acquireTimeout: 10_000',
    told: 'leases: 3 acquired, 3 released, 0 leaked',
  },
  "finds a moved download although the service's answer to the move is lost @long": {
    suite: 'download',
    faults: [[/^PUT .*\/fs\/move$/, 'unanswered']],
  },
  "doesn't wait for a silent connection when it clears the clipboard after a test @long": {
    suite: 'clipboard',
    faults: [[/clipboard\/write$/, 'none', 'silent']],
  },
  'creates an auth connection although calls and answers are lost @long': {
    suite: 'connection',
    faults: [
      [/^GET .*\/auth\/connections/, 'refused', 'refused', 'refused'],
      [/^POST .*\/auth\/connections$/, 'refused', 'unanswered'],
    ],
    more: `poolProfile: { name: 'carol', login: { domain: 'shop.example' } }`,
  },
};
for (const [title, { suite = 'works', faults, told = '', ...options }] of Object.entries(cases))
  test(title, async ({ runSuite, faultProxy }) => {
    plan(faultProxy, faults);
    const { stats, output } = await runSuite(suite, faultProxy.url, options);
    expect(stats, output).toMatchObject({ passed: 1, failed: 0 });
    const planned = faults.flatMap(([, ...rest]) => rest).filter((fault) => fault !== 'none');
    expect(faultProxy.happened).toHaveLength(planned.length);
    expect(output).toContain(told);
  });

test('returns browsers after a hook timed out or a worker was killed before it noted the lease @long', async ({
  startSuite,
  hosted,
  faultProxy,
}) => {
  // The service doesn't notice that the client has gone. Only the tag of the lease leads to its browser.
  // The first acquire finds no pool.
  faultProxy.plan(acquire, 'none', 'silent', 'none', 'silent');
  const run = startSuite('gap', faultProxy.url, { pool: 'acquireTimeout: 20_000' });
  await expect.poll(hosted.leased, { timeout: 20_000 }).toBe(1);
  process.kill(Number(readFileSync(join(run.directory, 'worker'), 'utf8')), 'SIGKILL');
  const result = await run.finished();
  expect(statusesOf(result)).toMatchObject({ 'times out': 'timedOut', 'has the only browser': 'passed' });
  expect(faultProxy.happened).toHaveLength(2);
  expect(result.output).toContain('0 leaked');
  expectOneHolderEach(run.directory);
});

for (const { fault, status, act, tag = '' } of [
  { fault: 'was reset', status: 'failed', act: (proxy: FaultProxy) => proxy.resetWebSockets(), tag: ' @long' },
  { fault: 'went silent', status: 'timedOut', act: (proxy: FaultProxy) => proxy.silenceWebSockets() },
])
  test(`gives the next test a new browser after the connection ${fault}${tag}`, async ({ startSuite, faultProxy }) => {
    test.skip(!isLong && status === 'timedOut');
    const run = startSuite('in-use', faultProxy.url, { config: 'timeout: 20_000,' });
    await expectOutput(run, 'in use');
    act(faultProxy);
    const result = await run.finished();
    expect(statusesOf(result)).toEqual({ 'loses it': status, works: 'passed' });
    if (status === 'failed') {
      const { annotations } = result.results['loses it']![0]!;
      expect(annotations).toContainEqual(expect.objectContaining({ type: 'infrastructure' }));
      expect(result.output).toMatch(
        /infrastructure: 1 attempt had no working browser:\n {2}1 × the browser was lost during the test\n/,
      );
    }
    expect(result.output).toContain('leases: 2 acquired, 2 released, 0 leaked');
  });

test("a clipboard that can't be emptied fails only tests that use it, and a closed connection names its reason", async ({
  startSuite,
  faultProxy,
}) => {
  const refusal = { status: 501, retryAfter: 0 };
  faultProxy.plan(/^POST \/browsers\/\w+\/computer\/clipboard\/write/, refusal, refusal, refusal);
  const run = startSuite('refused', faultProxy.url);
  await expectOutput(run, 'in use');
  faultProxy.refuseWebSockets('more than 256 MiB wait for this client to read them');
  const { results, output } = await run.finished();
  expect(results['files']![0]!.status, output).toBe('passed');
  expect(results['clipboard']![0]!.error!.message).toContain('501');
  expect(results['waits']![0]!.errors.map(({ message }) => message).join('\n')).toMatch(
    /The service closed the connection to the browser of this test, session \w+: more than 256 MiB wait for this client/,
  );
  expect(output).toContain('leases: 3 acquired, 3 released, 0 leaked');
});

test('retries an acquire that got no answer, and returns both granted browsers', async ({ runSuite, faultProxy }) => {
  test.skip(!isLong);
  test.setTimeout(180_000);
  faultProxy.plan(acquire, 'none', 'silent');
  const { output } = await runSuite('works', faultProxy.url, { size: 2, pool: 'acquireTimeout: 10_000' });
  expect(output).toContain('0 leaked');
});

test('saves a replay although connections hang or break', async ({ runSuite, faultProxy }) => {
  test.skip(!isLong);
  plan(faultProxy, [
    [/^POST .*\/stop$/, 'silent'],
    [/^GET .*\/replays\//, 'silent', 'truncated'],
  ]);
  const { results } = await runSuite('works', faultProxy.url, { more: `poolReplay: 'on'` });
  const [{ annotations, attachments } = { annotations: [], attachments: [] }] = results['works'] ?? [];
  expect(annotations.filter(({ description }) => /no video|broke off/.test(description ?? ''))).toEqual([]);
  expect(attachments.map(({ name }) => name)).toContain('replay');
  expect(faultProxy.happened).toHaveLength(3);
});

test("a lost answer to the start of a replay doesn't use up the test's time", async ({ runSuite, faultProxy }) => {
  test.skip(!isLong);
  faultProxy.plan(/^POST .*\/replays$/, 'silent');
  const { results } = await runSuite('works', faultProxy.url, {
    more: `poolReplay: 'on'`,
    config: 'timeout: 8000,',
  });
  expect(results['works']?.map(({ status }) => status)).toEqual(['passed']);
  expect(results['works']?.[0]?.annotations).toContainEqual(
    expect.objectContaining({ description: expect.stringContaining('not recorded: no answer') }),
  );
});

test('the reaper ends a profile-saving session that its worker could not delete, and the run reports it @long', async ({
  runSuite,
  hosted,
  faultProxy,
}) => {
  faultProxy.plan(/^DELETE .*\/browsers\//, 'refused', 'refused', 'refused');
  const more = `poolProfile: { name: 'carol', save: true }`;
  const { output } = await runSuite('works', faultProxy.url, { more });
  expect(output).toMatch(
    /could not be given back yet, and whether its profile "carol" was saved is not known: .*ECONNRESET/,
  );
  const profile = async () => (await hosted.client.profiles.download('carol'))?.bytes();
  await expect.poll(async () => (await profile())?.length ?? 0, { timeout: 20_000 }).toBeGreaterThan(0);
});
