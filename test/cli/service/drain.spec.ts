import { chromium } from '@playwright/test';
import { descendantsOf } from '../../../src/service/process/children/namespaces.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { expect, expectEnded, test } from './served.ts';

const draining = { status: 503, body: { code: 'draining', message: expect.stringContaining('about to end') } };

test('serve ends idle browsers on SIGTERM, and waits for leased ones', async ({ serve, directory }) => {
  const { cli, url, call } = await serve();
  await call('POST', '/browser_pools', { size: 2, name: 'ci' });
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', {});
  const { body: single } = await call('POST', '/browsers', {});
  const isIdle = async () => (await call('GET', '/browser_pools/ci')).body.available_count === 1;
  await expect.poll(isIdle).toBe(true);
  await call('POST', '/browser_pools', { size: 1, name: 'empty' });
  await call('POST', '/browser_pools/empty/acquire', {});
  const login = { profile_name: 'ann', domain: 'shop.example', login_url: 'https://shop.example/login' };
  const { body: connection } = await call('POST', '/auth/connections', login);
  const queued = call('POST', '/browser_pools/empty/acquire', { acquire_timeout_seconds: 50 });

  cli.child.kill('SIGTERM');
  expect(await queued).toMatchObject(draining);
  const loginPath = `/auth/connections/${connection.id}/login`;
  for (const path of ['/browsers', '/browser_pools/ci/acquire', '/browser_pools', loginPath]) {
    const refused = await call('POST', path, path === '/browser_pools' ? { size: 1 } : {});
    expect(refused).toMatchObject(draining);
    expect(refused.headers.get('retry-after')).toBe('5');
  }
  expect((await call('GET', '/browser_pools/ci')).body).toMatchObject({ available_count: 0, acquired_count: 1 });
  const ready = await fetch(`${url}/readyz`);
  expect({ status: ready.status, body: await ready.json() }).toMatchObject(draining);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);

  const browser = await chromium.connectOverCDP(leased.cdp_ws_url);
  const page = await browser.newPage();
  await page.setContent('<title>Still here</title>');
  expect(await page.title()).toBe('Still here');
  await browser.close();

  const { body: others } = await call('GET', '/browsers');
  for (const { session_id, pool } of others) {
    const isReleased = session_id !== single.session_id;
    if (isReleased) await call('POST', `/browser_pools/${pool.id}/release`, { session_id, reuse: true });
  }
  expect((await call('GET', '/browser_pools/ci')).body).toMatchObject({ available_count: 0, acquired_count: 0 });
  expect(cli.child.exitCode).toBeNull();
  await call('DELETE', `/browsers/${single.session_id}`);
  expect(await cli.exited).toEqual({ code: 0, signal: null });
  await expectNoProcessWith(directory);
});

for (const [how, options, signals, logged] of [
  ['a second SIGTERM', '', ['SIGTERM', 'SIGTERM'], 'service_ending'],
  ['SIGINT after SIGTERM @long', '', ['SIGTERM', 'SIGINT'], 'service_ending'],
  ['SIGTERM after --drain-timeout', '--drain-timeout 1', ['SIGTERM'], 'service_draining timeout_seconds=1 '],
  ['SIGTERM with --drain-timeout 0 @long', '--drain-timeout 0', ['SIGTERM'], 'service_ending'],
] as const) {
  test(`serve ends leased browsers on ${how}`, async ({ serve, directory }) => {
    const { cli, call } = await serve(options);
    await call('POST', '/browser_pools', { size: 1, name: 'ci' });
    await call('POST', '/browser_pools/ci/acquire', {});
    await call('POST', '/browsers', {});
    expect(descendantsOf(cli.child.pid!).length).toBeGreaterThan(1);
    if (signals.length === 2) {
      cli.child.kill(signals[0]);
      await expect.poll(() => cli.output).toContain('service_draining');
      expect((await call('POST', '/browsers', {})).status).toBe(503);
      expect((await call('GET', '/browsers')).body).toHaveLength(2);
      expect(descendantsOf(cli.child.pid!).length).toBeGreaterThan(0);
    }
    await expectEnded(cli, directory, { by: signals.at(-1)! });
    expect(cli.output).toContain(logged);
  });
}
