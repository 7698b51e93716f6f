import { chromium } from '@playwright/test';
import { CliProcess } from '../../support/service/service-process.ts';
import { TunneledApp } from '../../support/http/tunneled-app.ts';
import { testTagOf } from '../../../src/contract/lease-tags.ts';
import { expect, expectExit, expectFailure, printed, test } from '../commands.ts';

test('pools creates, lists, changes, flushes and deletes a pool', async ({ cli, service }) => {
  expect(printed(await cli('pools list'))).toBe('There are no pools.\n');
  await service.call('POST', '/profiles', { name: 'ann' });
  const created = await cli('pools create ci --size 1 --timeout 120 --profile ann');
  expect(printed(created)).toMatch(/^Created the pool ci \(\w+\)\.\n$/);
  const { browser_pool_config } = (await service.call('GET', '/browser_pools/ci')).body;
  expect(browser_pool_config).toMatchObject({ timeout_seconds: 120, profile: { name: 'ann' } });
  expect((await cli('pools list')).stdout).toMatch(
    /^NAME +ID +ENGINE +SIZE +AVAILABLE +LEASED +CREATED\nci +\w+ +chromium +1 /,
  );
  const { body: leased } = await service.call('POST', '/browser_pools/ci/acquire', {});
  await service.call('POST', '/browser_pools/ci/release', { session_id: leased.session_id, reuse: true });
  const changed = await cli('pools update ci --size 2 --timeout 240 --rename large --discard-idle --json');
  expect(JSON.parse(changed.stdout)).toMatchObject({
    name: 'large',
    browser_pool_config: { size: 2, timeout_seconds: 240, profile: { name: 'ann' } },
  });

  const { body: fresh } = await service.call('POST', '/browser_pools/large/acquire', {});
  expect(fresh.session_id).not.toBe(leased.session_id);
  await expect.poll(async () => (await service.call('GET', '/browser_pools/large')).body.available_count).toBe(1);
  expect(printed(await cli('pools flush large'))).toBe('Flushed the pool large.\n');
  const cleared = JSON.parse((await cli(['pools', 'update', 'large', '--profile', '', '--json'])).stdout);
  expect(cleared.browser_pool_config.profile).toBeUndefined();
  expectFailure(await cli('pools delete large'), 2, 'pass --yes');
  expectFailure(await cli('pools delete large --yes'), 1, '409');
  expect(printed(await cli('pools delete large --force --yes'))).toBe('Deleted the pool large.\n');
  expect(JSON.parse((await cli('pools list --json')).stdout)).toEqual([]);
});

test('pools create says how many browsers can run at once if a limit is below the size', async ({ cli, service }) => {
  await service.call('PATCH', '/org/limits', { default_project_max_concurrent_sessions: 1 });
  const stderr = expect.stringContaining('Only 1 of its 8 browsers can run at once: raise the limit');
  expect(await cli('pools create ci --size 8')).toMatchObject({ code: 0, stderr });
  expect(await cli('pools update ci --size 1')).toMatchObject({ code: 0, stderr: '' });
  await service.call('PATCH', '/org/limits', { default_project_max_concurrent_sessions: 0 });
});

test('pools explains a wrong size, an unknown pool and a missing name', async ({ cli }) => {
  expectFailure(await cli('pools create ci --size many'), 2, 'whole number');
  for (const args of ['update none --size 2', 'flush none']) expectFailure(await cli(`pools ${args}`), 1, 'none');
  expectFailure(await cli('pools create'), 2, '(see playwright-pool pools create --help)');
});

const tags = {
  'playwright-pool.holder': '41:2:57',
  'playwright-pool.host': 'ci-3',
  'playwright-pool.test': testTagOf('cart.spec.ts › buys milk'),
};

test('sessions lists a session without its secret links, opens its live view and ends it', async ({ cli, service }) => {
  expect(printed(await cli('sessions list'))).toBe('There are no browser sessions.\n');
  const { body } = await service.call('POST', '/browsers', { name: 'checkout', tags });
  const { stdout } = await cli('sessions list');
  const [titles, row] = stdout.split('\n');
  expect(titles).toMatch(/^ID +NAME +POOL +PROFILE +IDLE +HOLDER +TEST +CREATED +ENDED$/);
  expect(row).toMatch(/^\w+ +checkout +\d of 60 s +worker 2, process 57 on ci-3 +cart\.spec\.ts › buys milk /);
  const listed = await cli('sessions list --json');
  expect(JSON.parse(listed.stdout)).toMatchObject([{ session_id: body.session_id, name: 'checkout' }]);
  for (const secret of ['jwt=', 'token=']) expect(listed.stdout).not.toContain(secret);

  const link = await cli('sessions open checkout --print --read-only');
  expect(link).toEqual({ code: 0, stdout: `${body.read_only_live_view_url}\n`, stderr: '' });
  expect((await fetch(link.stdout.trim())).status).toBe(200);

  expect(printed(await cli('sessions open checkout', { env: { PATH: '' } }))).toBe(`${body.browser_live_view_url}\n`);
  await service.call('POST', '/browsers', { name: 'payment' });
  expect(printed(await cli('sessions kill checkout payment'))).toBe('Ended checkout.\nEnded payment.\n');
  expectFailure(await cli('sessions kill checkout'), 1, 'checkout');
  expect((await cli('sessions list --status deleted')).stdout).toContain('checkout');
});

test('sessions lists holders and idle times, and explains a missing live view', async ({ answering, cli }) => {
  const idle = { idle_seconds: 12, timeout_seconds: 90 };
  const leased = { pool: { id: 'p', name: 'ci' }, profile: { id: 'q', name: 'ann' }, tags };
  const first = { session_id: 'first', created_at: 'now', ...leased, ...idle };
  const second = { session_id: 'second', created_at: 'now', pool: { id: 'p' } };
  expect(tags['playwright-pool.test']).toBe('cart.spec.ts =E2=80=BA buys milk');
  const env = await answering(({ url }, response) => {
    const body = url!.startsWith('/browsers/') ? first : [first, second];
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  expect((await cli('sessions list', { env })).stdout.split('\n').slice(1)).toEqual([
    'first         ci    ann      12 of 90 s  worker 2, process 57 on ci-3  cart.spec.ts › buys milk  now',
    'second        p                                                                                  now',
    '',
  ]);
  const stderr = 'playwright-pool: the service offers no live view of the session first\n';
  expect(await cli('sessions open first --print', { env })).toEqual({ code: 1, stdout: '', stderr });
});

test('tunnel lets the pages of a session reach this machine until Ctrl+C', async ({ cli, service, env }) => {
  await using app = await TunneledApp.start();
  const { body: session } = await service.call('POST', '/browsers', { headless: true, name: 'checkout', tunnel: true });
  const wrong = await cli('tunnel checkout --expose http://localhost');
  expectFailure(wrong, 2, '--expose: "http://localhost" is not a host of a network pattern');
  expectFailure(await cli('tunnel none'), 1, 'none');
  await using tunnel = new CliProcess(['tunnel', 'checkout'], { env });
  expect(await tunnel.firstLine()).toContain('Pages of checkout reach <loopback> on this machine.');
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  expect((await page.goto(app.url))?.status()).toBe(200);
  await expectExit(tunnel, 'SIGINT', 130);
  await expect.poll(async () => (await page.goto(app.url))?.status()).toBe(502);
  await browser.close();
  // Links of a session would be secrets in a log.
  expect((await cli('sessions list --json')).stdout).not.toContain('_ws_url');
});
