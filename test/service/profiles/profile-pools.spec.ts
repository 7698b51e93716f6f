import { expect } from '@playwright/test';
import { test } from './ann.ts';
import { keptIn } from '../../support/service/profiles.ts';
import type { Call } from '../../support/service/service.ts';

test.describe.configure({ mode: 'default' });

const lease = async (call: Call, pool = 'ci') => {
  const terms = { acquire_timeout_seconds: 30 };
  const { status, body: session } = await call('POST', `/browser_pools/${pool}/acquire`, terms);
  expect(status, JSON.stringify(session)).toBe(200);
  return session;
};
const release = async (call: Call, { session_id }: { session_id: string }, reuse: boolean, pool = 'ci') => {
  expect(await call('POST', `/browser_pools/${pool}/release`, { session_id, reuse })).toMatchObject({ status: 204 });
};
const ofAnn = { size: 1, name: 'ci', profile: { name: 'ann' } };

test('a pool leases browsers with a copy of its profile, and never saves the copies', async ({ call, ann }) => {
  await ann.createWith('first');
  const settings = { ...ofAnn, size: 2, profile: { name: 'ann', save_changes: true } };
  const { body: pool } = await call('POST', '/browser_pools', settings);
  const { body: before } = await call('GET', '/profiles/ann');
  expect(pool).toMatchObject({ profile_id: before.id, browser_pool_config: { profile: { name: 'ann' } } });
  const [one, other] = [await lease(call), await lease(call)];
  expect(one.profile).toMatchObject({ id: before.id });
  expect(one.profile_version).toEqual(expect.any(String));
  expect(other.profile_version).toBe(one.profile_version);
  await ann.logIn(one, 'second');
  await ann.expectLogin('first', other);
  await release(call, one, true);
  await release(call, other, false);
  const again = await lease(call);
  expect(again.session_id).toBe(one.session_id);
  // Its first lease has changed the storage.
  expect(again.profile_version).toBeUndefined();
  await ann.expectLogin('second', again);
  expect(await ann.end(again)).toBeUndefined();
  await ann.expectLogin('first', await lease(call));
  expect((await call('GET', '/profiles/ann')).body.updated_at).toBe(before.updated_at);
});

test('a pool keeps its profile after a rename, and loses it if the given id is empty @long', async ({
  call,
  ann,
  site,
}) => {
  await ann.createWith('first');
  const { body: pool } = await call('POST', '/browser_pools', ofAnn);
  expect((await call('PATCH', '/profiles/ann', { name: 'anna' })).status).toBe(200);
  expect((await call('GET', '/browser_pools/ci')).body).toMatchObject({
    profile_id: pool.profile_id,
    browser_pool_config: { profile: { name: 'anna' } },
  });
  expect((await call('PATCH', '/browser_pools/ci', { discard_all_idle: true })).status).toBe(200);
  const renamed = await lease(call);
  await ann.expectLogin('first', renamed);
  await release(call, renamed, true);

  const { body: cleared } = await call('PATCH', '/browser_pools/ci', { profile: { id: '' }, discard_all_idle: true });
  expect(cleared).not.toHaveProperty('profile_id');
  expect(cleared.browser_pool_config).toMatchObject({ refresh_on_profile_update: false });
  const leased = await lease(call);
  expect(leased).not.toHaveProperty('profile');
  expect(await keptIn(leased, site)).toEqual({});
});

test('replaces idle browsers of pools that follow a saved profile @long', async ({ call, ann }) => {
  await ann.createWith('first');
  await call('POST', '/browser_pools', { ...ofAnn, name: 'following' });
  await call('POST', '/browser_pools', { ...ofAnn, name: 'staying', refresh_on_profile_update: false });
  const leased = await lease(call, 'following');
  const idle = await lease(call, 'staying');
  await release(call, idle, true, 'staying');
  await ann.save('second');
  await ann.expectLogin('first', leased);
  await release(call, leased, false, 'following');

  await ann.expectLogin('second', await lease(call, 'following'));
  const stayed = await lease(call, 'staying');
  expect(stayed.session_id).toBe(idle.session_id);
  await ann.expectLogin('first', stayed);
});

test("replaces idle and starting browsers before it answers the profile's save @long", async ({ call, ann }) => {
  await ann.create();
  const session = await ann.start();
  await ann.logIn(session, 'first');
  await call('POST', '/browser_pools', { ...ofAnn, size: 2 });
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.available_count).toBeGreaterThan(0);
  expect(await ann.end(session)).toEqual({ status: 'saved' });
  for (const leased of [await lease(call), await lease(call)]) await ann.expectLogin('first', leased);
});

test('replaces a released browser whose holder gave it another profile @long', async ({ call, ann, site }) => {
  await ann.create();
  await call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const leased = await lease(call);
  const patch = { profile: { name: 'ann', save_changes: true } };
  const patched = { profile: { name: 'ann' }, pool: { name: 'ci' } };
  expect((await call('PATCH', `/browsers/${leased.session_id}`, patch)).body).toMatchObject(patched);
  await ann.logIn(leased, 'leased');
  await release(call, leased, true);
  expect(await ann.saveOf(leased)).toEqual({ status: 'saved' });
  const next = await lease(call);
  expect(next.session_id).not.toBe(leased.session_id);
  expect(await keptIn(next, site)).toEqual({});
  await ann.expectLogin('leased');
});

test('a pool reports a deleted profile, and fills again when a profile of that name exists', async ({
  call,
  ann,
  clock,
}) => {
  await ann.create();
  await call('POST', '/browser_pools', ofAnn);
  const leased = await lease(call);
  const patch = { profile: { name: 'ann', save_changes: true } };
  expect(await call('PATCH', `/browsers/${leased.session_id}`, patch)).toMatchObject({ status: 409 });
  await call('DELETE', '/profiles/ann');
  await release(call, leased, false);
  let isRefused = false;
  const refused = call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 30 });
  void refused.then(() => (isRefused = true));
  // The pool pauses between its attempts.
  const afterNextPause = () => {
    clock.advance(500);
    return isRefused;
  };
  await expect.poll(afterNextPause).toBe(true);
  const message = expect.stringMatching(/profile.* ann: create it first/);
  expect(await refused).toMatchObject({ status: 503, body: { message } });
  await ann.create();
  await call('PATCH', '/browser_pools/ci', {});
  await lease(call);
});
