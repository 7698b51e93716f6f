import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, expectOneHolderEach, prelude, test } from '../support/runs/fault-runs.ts';
import { isLong } from '../support/processes/long-form.ts';

// Faults of calls to the service lose no browser, and no test notices them.

const acquire = /^POST .*\/acquire$/;
const release = /^POST .*\/release$/;

test('leases a browser although calls are reset, cut off or slow, or a busy service refuses them', async ({
  start,
  hosted,
  faultProxy,
}) => {
  faultProxy.plan(
    acquire,
    'refused',
    'unanswered',
    'truncated',
    'slow',
    { status: 429, retryAfter: 1 },
    { status: 503, retryAfter: 1 },
  );
  faultProxy.plan(release, 'refused', 'unanswered', 'truncated', { status: 502, retryAfter: 0 }, 'slow');
  const suite = `${prelude}
    for (const title of ['one', 'two', 'three', 'four', 'five']) test(title, async () => {});`;
  const run = start({
    files: { 'connections.spec.ts': suite },
    ...hosted.options({
      via: faultProxy.url,
      pool: `release: 'reuse', acquireTimeout: 20_000`,
      more: `poolLease: 'test'`,
    }),
  });
  const { stats, output } = await run.finished();
  expect(stats).toMatchObject({ passed: 5, failed: 0 });
  expect(faultProxy.happened).toHaveLength(11);
  // Calls that certainly or possibly didn't reach the service.
  expect(output.match(/could not be given back yet/g)).toHaveLength(2);
  expect(output).toContain('leases: 5 acquired, 5 released, 0 leaked');
  expectOneHolderEach(run.directory);
});

test('the run creates its pool although calls and answers are lost @long', async ({ start, hosted, faultProxy }) => {
  faultProxy.plan(/^POST .*\/acquire$/, 'refused', 'refused');
  faultProxy.plan(/^POST .*\/browser_pools$/, 'refused', 'unanswered');
  const files = { 'pool.spec.ts': `${prelude} test('works', async () => {});` };
  const { stats } = await start({ files, ...hosted.options({ via: faultProxy.url }) }).finished();
  expect(stats).toMatchObject({ passed: 1, failed: 0 });
  expect(faultProxy.happened).toHaveLength(4);
});

test("finds a moved download although the service's answer to the move is lost @long", async ({
  start,
  hosted,
  faultProxy,
}) => {
  faultProxy.plan(/^PUT .*\/fs\/move$/, 'unanswered');
  const suite = `${prelude}
    test('works', async ({ page }) => {
      await page.setContent('<a download="x.txt" href="data:text/plain,some text">x</a>');
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('x').click()]);
      expect(readFileSync(await download.path(), 'utf8')).toBe('some text');
    });`.replace('appendFileSync,', 'appendFileSync, readFileSync,');
  const { stats } = await start({
    files: { 'download.spec.ts': suite },
    ...hosted.options({ via: faultProxy.url }),
  }).finished();
  expect(stats).toMatchObject({ passed: 1, failed: 0 });
  expect(faultProxy.happened).toHaveLength(1);
});

test('returns browsers after a hook timed out or a worker was killed before it noted the lease @long', async ({
  start,
  hosted,
  faultProxy,
}) => {
  // The service doesn't notice that the client has gone. Only the tag of the lease leads to its browser.
  // The first acquire finds no pool.
  faultProxy.plan(acquire, 'none', 'silent', 'none', 'silent');
  const suite = `${prelude.replace('auto: true', 'auto: false')}
    writeFileSync(join(here, 'worker'), String(process.pid));
    test('killed', async ({ held }) => {});
    test.describe(() => {
      test.use({ poolLease: 'test' });
      test('leases for itself', async ({ held }) => {});
    });
    test.describe(() => {
      test.beforeAll(async ({ browser }) => {
        test.setTimeout(1500);
        await (await browser.newContext()).newPage();
      });
      test('times out', async () => {});
    });
    test('has the only browser', async ({ held }) => {});`;
  const run = start({
    files: { 'gap.spec.ts': suite },
    ...hosted.options({ via: faultProxy.url, pool: 'acquireTimeout: 20_000' }),
  });
  await expect.poll(hosted.leased, { timeout: 20_000 }).toBe(1);
  process.kill(Number(readFileSync(join(run.directory, 'worker'), 'utf8')), 'SIGKILL');
  const { output, results } = await run.finished();
  expect(results['times out']?.map(({ status }) => status)).toEqual(['timedOut']);
  expect(results['has the only browser']?.map(({ status }) => status)).toEqual(['passed']);
  expect(faultProxy.happened).toHaveLength(2);
  expect(output).toContain('0 leaked');
  expectOneHolderEach(run.directory);
});

test('returns browsers to which no connection is possible, and leases others @long', async ({
  start,
  hosted,
  faultProxy,
}) => {
  faultProxy.plan(/^GET .*\/(cdp|playwright)/, 'refused', 'refused');
  const options = hosted.options({ via: faultProxy.url, pool: 'acquireTimeout: 10_000' });
  const { stats, output } = await start({
    files: { 'connect.spec.ts': `${prelude} test('works', async () => {});` },
    ...options,
  }).finished();
  expect(stats).toMatchObject({ passed: 1, failed: 0 });
  expect(faultProxy.happened).toHaveLength(2);
  expect(output).toContain('leases: 3 acquired, 3 released, 0 leaked');
});

test('gives the next test another browser after the connection was reset @long', async ({
  start,
  hosted,
  faultProxy,
}) => {
  const suite = `${prelude}
    test('loses it', async ({ page }) => {
      console.log('in use');
      await page.waitForTimeout(20_000);
    });
    test('works', async () => {});`;
  const run = start({ files: { 'reset.spec.ts': suite }, ...hosted.options({ via: faultProxy.url }) });
  await expect.poll(() => run.output, { timeout: 20_000 }).toContain('in use');
  faultProxy.resetWebSockets();
  const { output, results } = await run.finished();
  expect(results['works']?.map(({ status }) => status)).toEqual(['passed']);
  expect(results['loses it']?.[0]?.annotations).toContainEqual(expect.objectContaining({ type: 'infrastructure' }));
  expect(output).toMatch(
    /infrastructure: 1 attempt had no working browser:\n {2}1 × the browser was lost during the test\n/,
  );
  expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');
});

test('gives the next test another browser after the connection went silent', async ({ start, hosted, faultProxy }) => {
  test.skip(!isLong);
  const suite = `${prelude}
    test('hangs', async ({ page }) => {
      test.setTimeout(5000);
      console.log('in use');
      for (;;) await page.evaluate(1);
    });
    test('works', async () => {});`;
  const run = start({ files: { 'silent.spec.ts': suite }, ...hosted.options({ via: faultProxy.url }) });
  await expect.poll(() => run.output, { timeout: 20_000 }).toContain('in use');
  faultProxy.silenceWebSockets();
  const { output, results } = await run.finished();
  expect(results['hangs']?.map(({ status }) => status)).toEqual(['timedOut']);
  expect(results['works']?.map(({ status }) => status)).toEqual(['passed']);
  expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');
});

test("a clipboard that can't be emptied fails only tests that use it, and a closed connection names its reason", async ({
  start,
  hosted,
  faultProxy,
}) => {
  const suite = `
    import { test } from 'playwright-pool';
    test.use({ poolLease: 'test' });
    test('files', async ({ remote }) => { await remote.files.push(Buffer.from('x'), '/tmp/x'); });
    test('clipboard', async ({ page, remote }) => { await remote.clipboard.read(); });
    test('waits', async ({ page }) => {
      console.log('in use');
      await page.locator('#missing').click();
    });`;
  const refusal = { status: 501, retryAfter: 0 };
  faultProxy.plan(/^POST \/browsers\/\w+\/computer\/clipboard\/write/, refusal, refusal, refusal);
  const run = start({ files: { 'refused.spec.ts': suite }, ...hosted.options({ via: faultProxy.url }) });
  await expect.poll(() => run.output, { timeout: 40_000 }).toContain('in use');
  faultProxy.refuseWebSockets('more than 256 MiB wait for this client to read them');
  const { results, output } = await run.finished();
  expect(results['files']![0]!.status, output).toBe('passed');
  expect(results['clipboard']![0]!.error!.message).toContain('501');
  expect(results['waits']![0]!.errors.map(({ message }) => message).join('\n')).toMatch(
    /The service closed the connection to the browser of this test, session \w+: more than 256 MiB wait for this client/,
  );
  expect(output).toContain('leases: 3 acquired, 3 released, 0 leaked');
});

test('retries an acquire call that got no answer, and returns both granted browsers', async ({
  start,
  hosted,
  faultProxy,
}) => {
  test.skip(!isLong);
  test.setTimeout(180_000);
  faultProxy.plan(acquire, 'none', 'silent');
  const run = start({
    files: { 'silent.spec.ts': `${prelude} test('works', async () => {});` },
    ...hosted.options({ via: faultProxy.url, size: 2, pool: 'acquireTimeout: 10_000' }),
  });
  const { output } = await run.finished();
  expect(output).toContain('0 leaked');
});

test('saves a replay although connections hang or break', async ({ start, hosted, faultProxy }) => {
  test.skip(!isLong);
  faultProxy.plan(/^POST .*\/stop$/, 'silent');
  faultProxy.plan(/^GET .*\/replays\//, 'silent', 'truncated');
  const run = start({
    files: { 'replay.spec.ts': `${prelude} test('works', async () => {});` },
    ...hosted.options({ via: faultProxy.url, more: `poolReplay: 'on'` }),
  });
  const { results } = await run.finished();
  const [{ annotations, attachments } = { annotations: [], attachments: [] }] = results['works'] ?? [];
  expect(annotations.filter(({ description }) => /no video|broke off/.test(description ?? ''))).toEqual([]);
  expect(attachments.map(({ name }) => name)).toContain('replay');
  expect(faultProxy.happened).toHaveLength(3);
});

test("doesn't wait for a silent connection when it clears the clipboard after a test @long", async ({
  start,
  hosted,
  faultProxy,
}) => {
  faultProxy.plan(/clipboard\/write$/, 'none', 'silent');
  const suite = `${prelude} test('works', async ({ remote: { clipboard } }) => test.setTimeout(20_000));`;
  const { stats } = await start({
    files: { 'clipboard.spec.ts': suite },
    ...hosted.options({ via: faultProxy.url }),
  }).finished();
  expect(stats).toMatchObject({ passed: 1, failed: 0 });
});

test("a lost answer to the start of a replay doesn't use up the test's time", async ({ start, hosted, faultProxy }) => {
  test.skip(!isLong);
  faultProxy.plan(/^POST .*\/replays$/, 'silent');
  const { config, env } = hosted.options({ via: faultProxy.url, more: `poolReplay: 'on'` });
  const files = { 'recording.spec.ts': `${prelude} test('works', async () => {});` };
  const { results } = await start({ files, config: `${config} timeout: 8000,`, env }).finished();
  expect(results['works']?.map(({ status }) => status)).toEqual(['passed']);
  expect(results['works']?.[0]?.annotations).toContainEqual(
    expect.objectContaining({ description: expect.stringContaining('not recorded: no answer') }),
  );
});

test('the reaper ends a profile-saving session that its worker could not delete, and the run reports it @long', async ({
  start,
  hosted,
  faultProxy,
}) => {
  faultProxy.plan(/^DELETE .*\/browsers\//, 'refused', 'refused', 'refused');
  const run = start({
    files: { 'profile.spec.ts': `${prelude} test('works', async () => {});` },
    ...hosted.options({ via: faultProxy.url, more: `poolProfile: { name: 'carol', save: true }` }),
  });
  const { output } = await run.finished();
  expect(output).toMatch(
    /could not be given back yet, and whether its profile "carol" was saved is not known: .*ECONNRESET/,
  );
  const profile = async () => (await hosted.client.profiles.download('carol'))?.bytes();
  await expect.poll(async () => (await profile())?.length ?? 0, { timeout: 20_000 }).toBeGreaterThan(0);
});

test('creates an auth connection although calls and answers are lost @long', async ({ start, hosted, faultProxy }) => {
  faultProxy.plan(/^GET .*\/auth\/connections/, 'refused', 'refused', 'refused');
  faultProxy.plan(/^POST .*\/auth\/connections$/, 'refused', 'unanswered');
  const suite = `
    import { test, expect } from 'playwright-pool';
    test('works', async ({ remote: { connection } }) => expect((await connection.info()).status).toBe('NEEDS_AUTH'));`;
  const run = start({
    files: { 'connection.spec.ts': suite },
    ...hosted.options({
      via: faultProxy.url,
      more: `poolProfile: { name: 'carol', login: { domain: 'shop.example' } }`,
    }),
  });
  expect((await run.finished()).stats).toMatchObject({ passed: 1, failed: 0 });
  expect(faultProxy.happened).toHaveLength(5);
});
