import { expect } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import { apiKey, test, withCall } from '../../support/service/plane.ts';
import { startSession } from '../../support/service/profiles.ts';
import { custom } from '../../support/service/proxies.ts';
import type { TestService } from '../../support/service/service.ts';

test.describe.configure({ mode: 'default' });

const silence = { status: 503, body: { code: 'unavailable', message: expect.stringContaining('does not answer') } };

test('a browser goes to no other lease if the answer about its new profile or viewport is lost', async ({ plane }) => {
  const { call } = plane.control;
  let id = await leaseOf(plane.control);
  for (const change of [{ profile: { name: 'ann' } }, { viewport: { width: 500, height: 400 } }]) {
    plane.way.plan(/^PATCH \/browsers\//, 'unanswered');
    expect(await call('PATCH', `/browsers/${id}`, change)).toMatchObject(silence);
    await call('POST', '/browser_pools/ci/release', { session_id: id, reuse: true });
    const { body: next } = await call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 20 });
    expect(next.session_id).toEqual(expect.any(String));
    expect(next.session_id).not.toBe(id);
    id = next.session_id;
  }
});

test('a browser goes to no other lease if it is released while it loads a profile', async ({ plane }) => {
  const { control, machine, way } = plane;
  const first = await leaseOf(control);
  way.plan(/^PATCH \/browsers\//, 'slow');
  const loading = control.call('PATCH', `/browsers/${first}`, { profile: { name: 'ann', save_changes: true } });
  await expect.poll(async () => (await machine.call('GET', `/browsers/${first}`)).body.profile).toBeDefined();
  await control.call('POST', '/browser_pools/ci/release', { session_id: first, reuse: true });
  expect(await loading).toMatchObject({ status: 409, body: { code: 'conflict' } });
  const { body: second } = await control.call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 20 });
  expect(second.session_id).not.toBe(first);
  expect((await machine.call('GET', '/profiles')).body).toEqual([]);
});

test('calls about a session fail with 503 while its machine does not answer, and with 404 once it knows no such session', async ({
  plane: { control, machine, way },
}) => {
  const first = await leaseOf(control);
  way.plan(/^POST \/profiles/, 'unanswered');
  expect(await control.call('PATCH', `/browsers/${first}`, { profile: { name: 'ann' } })).toMatchObject(silence);
  way.plan(/^PATCH \/browsers\//, 'unanswered');
  expect(await control.call('POST', `/browsers/${first}/hand_over`)).toMatchObject(silence);
  await machine.call('DELETE', `/browsers/${first}`);
  expect((await control.call('POST', `/browsers/${first}/hand_over`)).status).toBe(404);
});

test('a machine keeps no profile of a session whose proxy it did not take', async ({ plane }) => {
  const { control, machine, way } = plane;
  await control.call('POST', '/profiles', { name: 'ann' });
  const { body: proxy } = await control.call('POST', '/proxies', custom(9));
  way.plan(/^POST \/proxies/, 'unanswered');
  const answer = await control.call('POST', '/browsers', { profile: { name: 'ann' }, proxy_id: proxy.id });
  expect(answer.status).toBe(503);
  expect((await machine.call('GET', '/profiles')).body).toEqual([]);
});

test('a machine that comes back after its sessions were lost keeps no profile of them @long', async ({}, testInfo) => {
  const options = { apiKey, dataDirectory: testInfo.outputPath('machine') };
  await using machine = await startService(options);
  const events: string[] = [];
  await using service = await startService({
    apiKey,
    machines: { from: machine.url },
    log: (event) => void events.push(event),
  });
  const { call } = withCall(service);
  await call('POST', '/profiles', { name: 'ann' });
  const { session_id: id } = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  await machine.close();
  await expect.poll(() => events, { timeout: 30_000 }).toContain('machine_lost');
  await using again = await startService({ ...options, port: Number(new URL(machine.url).port) });
  await expect.poll(async () => (await withCall(again).call('GET', '/profiles')).body).toEqual([]);
  expect((await call('GET', `/browsers/${id}?include_deleted=true`)).body.end_reason).toBe('machine_lost');
});

test('a session can be recorded many times without a warning about listeners @long', async ({ plane: { control } }) => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  const { session_id: id } = await startSession(control.call, {});
  for (let count = 0; count < 11; count += 1) {
    const { body } = await control.call('POST', `/browsers/${id}/replays`, {});
    await control.call('POST', `/browsers/${id}/replays/${body.replay_id}/stop`);
  }
  process.off('warning', note);
  expect(warnings).toEqual([]);
});

/** Leases the only browser of a new pool. The profile `ann` exists, too. */
async function leaseOf({ call }: TestService): Promise<string> {
  await call('POST', '/profiles', { name: 'ann' });
  await call('POST', '/browser_pools', { name: 'ci', size: 1 });
  return (await call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 20 })).body.session_id;
}
