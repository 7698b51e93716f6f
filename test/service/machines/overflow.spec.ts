import { chromium, expect } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { withCall } from '../../support/service/plane.ts';
import { test as base, type TestService } from '../../support/service/service.ts';
import { empty } from '../../support/service/shared-service.ts';
import { perWorker } from '../../support/worker.ts';

const machineKey = 'key-of-the-machine';
const otherKey = 'key-of-the-other-service';

type Services = {
  /** A control plane with one machine of one slot, and another service for overflow. */
  control: TestService;
  machine: TestService;
  other: TestService;
  /** The way from the control plane to the other service. */
  way: FaultProxy;
};

const test = base.extend<{ services: Services; sharedServices: Services }>({
  sharedServices: perWorker(async (use) => {
    await using machine = await startService({ apiKey: machineKey, maxConcurrentSessions: 1 });
    await using other = await startService({ apiKey: otherKey });
    await using way = await FaultProxy.start(other.url);
    const overflow = { url: `${way.url}/`, apiKey: otherKey, maxSessions: 2 };
    await using control = await startService({ machines: { from: machine.url, apiKey: machineKey, overflow } });
    await use({ control: withCall(control), machine: withCall(machine), other: withCall(other), way });
  }),
  services: async ({ sharedServices: services }, use) => {
    await use(services);
    for (const { call } of [services.control, services.other]) await empty(call);
  },
});

test.describe.configure({ mode: 'default' });

test('a lease that has no free slot on a machine gets a browser on the service for overflow, which ends with it', async ({
  services: { control, machine, other, way },
}) => {
  const count = async () => (await other.call('GET', '/browsers')).body.length;
  await control.call('POST', '/browser_pools', { name: 'ci', size: 5 });
  const free = async () => (await control.call('GET', '/browser_pools/ci')).body.available_count;
  await expect.poll(free).toBe(1);
  const acquire = async () => (await control.call('POST', '/browser_pools/ci/acquire', {})).body;
  const first = await acquire();
  expect(first.machine).toBe(machine.url);
  // No browser starts on the other service before a lease needs one.
  expect(await count()).toBe(0);
  const second = await acquire();
  expect(second.machine).toBe(way.url);
  const browser = await chromium.connectOverCDP(second.cdp_ws_url);
  const page = await browser.newPage();
  expect(await page.evaluate('1 + 1')).toBe(2);
  await browser.close();
  await control.call('POST', '/profiles', { name: 'carol' });
  const message = expect.stringContaining('start a session with the profile instead');
  const patched = await control.call('PATCH', `/browsers/${second.session_id}`, { profile: { name: 'carol' } });
  expect(patched).toMatchObject({ status: 409, body: { message } });
  const path = `/browsers/${second.session_id}/fs`;
  const written = await control.call('PUT', `${path}/write_file?path=/tmp/a`, new TextEncoder().encode('text'));
  expect(written.status).toBe(201);
  expect((await control.call('GET', `${path}/read_file?path=/tmp/a`)).body).toBe('text');

  const release = async ({ session_id }: { session_id: string }) =>
    await control.call('POST', '/browser_pools/ci/release', { session_id, reuse: true });
  await release(second);
  await expect.poll(count).toBe(0);
  await release(first);
  expect((await acquire()).session_id).toBe(first.session_id);
  // The hosted service has no operation of this service's own.
  expect(way.requests.filter((request) => /hand_over|upload|proxies|tunnel/.test(request))).toEqual([]);
});

test('the service for overflow gets at most its number of sessions, and none that need a profile', async ({
  services: { control, other },
}) => {
  const foreign = (await other.call('POST', '/browsers', {})).body.session_id;
  await control.call('POST', '/profiles', { name: 'carol' });
  await control.call('POST', '/browser_pools', { name: 'saved', size: 2, profile: { name: 'carol' } });
  const acquire = async (pool: string, acquire_timeout_seconds: number) =>
    (await control.call('POST', `/browser_pools/${pool}/acquire`, { acquire_timeout_seconds })).status;
  expect(await acquire('saved', 30)).toBe(200);
  expect(await acquire('saved', 1)).not.toBe(200);
  await control.call('POST', '/browser_pools', { name: 'ci', size: 5 });
  for (const _ of [1, 2]) expect(await acquire('ci', 30)).toBe(200);
  expect(await acquire('ci', 1)).not.toBe(200);
  // Checks of the control plane end the sessions that it doesn't know, but only its own.
  const ids = (await other.call('GET', '/browsers')).body.map(({ session_id }: { session_id: string }) => session_id);
  expect(ids).toHaveLength(3);
  expect(ids).toContain(foreign);
});

test('an acquire waits if the service for overflow refuses @long', async ({ services: { control, other, way } }) => {
  way.plan(/^POST \/browsers$/, { status: 503, retryAfter: 1 });
  await control.call('POST', '/browser_pools', { name: 'ci', size: 3 });
  const acquire = async () => await control.call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 30 });
  const first = (await acquire()).body;
  const waiting = acquire();
  await expect.poll(() => way.happened.length).toBeGreaterThan(0);
  await control.call('POST', '/browser_pools/ci/release', { session_id: first.session_id, reuse: true });
  expect((await waiting).body.session_id).toBe(first.session_id);
  await expect.poll(async () => (await other.call('GET', '/browsers')).body).toEqual([]);
});
