import { expect } from '@playwright/test';
import type { Call } from '../../support/service/service.ts';
import { endSession, everywhere, keptIn, logIn, logInUnder } from '../../support/service/profiles.ts';
import { profileSaveOf, startSession, test } from '../../support/service/profiles.ts';

const lease = async (call: Call, pool = 'ci') => {
  const { status, body: session } = await call('POST', `/browser_pools/${pool}/acquire`, {
    acquire_timeout_seconds: 30,
  });
  expect(status, JSON.stringify(session)).toBe(200);
  return session;
};
const release = async (call: Call, { session_id }: { session_id: string }, reuse: boolean, pool = 'ci') => {
  expect(await call('POST', `/browser_pools/${pool}/release`, { session_id, reuse })).toMatchObject({ status: 204 });
};

test('a pool leases browsers with a copy of its profile, and never saves the copies', async ({ call, site }) => {
  const { body: profile } = await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'first');
  const { body: pool } = await call('POST', '/browser_pools', {
    name: 'ci',
    size: 2,
    profile: { name: 'ann', save_changes: true },
  });
  expect(pool).toMatchObject({ profile_id: profile.id, browser_pool_config: { profile: { name: 'ann' } } });
  const { body: before } = await call('GET', '/profiles/ann');
  const [one, other] = [await lease(call), await lease(call)];
  expect(one.profile).toMatchObject({ id: profile.id });
  expect(one.profile_version).toEqual(expect.any(String));
  expect(other.profile_version).toBe(one.profile_version);
  await logIn(one, site, 'second');
  expect(await keptIn(other, site)).toEqual(everywhere('first'));
  await release(call, one, true);
  await release(call, other, false);
  const again = await lease(call);
  expect(again.session_id).toBe(one.session_id);
  // Its first lease has changed the storage.
  expect(again.profile_version).toBeUndefined();
  expect(await keptIn(again, site)).toEqual(everywhere('second'));
  expect(await endSession(call, again)).toBeUndefined();
  expect(await keptIn(await lease(call), site)).toEqual(everywhere('first'));
  expect((await call('GET', '/profiles/ann')).body.updated_at).toBe(before.updated_at);
});

test('a pool keeps its profile after a rename @long', async ({ call, site }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'first');
  const { body: pool } = await call('POST', '/browser_pools', { name: 'ci', size: 1, profile: { name: 'ann' } });
  expect((await call('PATCH', '/profiles/ann', { name: 'anna' })).status).toBe(200);
  expect((await call('GET', '/browser_pools/ci')).body).toMatchObject({
    profile_id: pool.profile_id,
    browser_pool_config: { profile: { name: 'anna' } },
  });
  expect((await call('PATCH', '/browser_pools/ci', { discard_all_idle: true })).status).toBe(200);
  expect(await keptIn(await lease(call), site)).toEqual(everywhere('first'));
});

test('replaces idle browsers of pools that follow a saved profile @long', async ({ call, site }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'first');
  const body = { size: 1, profile: { name: 'ann' } };
  await call('POST', '/browser_pools', { ...body, name: 'following' });
  await call('POST', '/browser_pools', { ...body, name: 'staying', refresh_on_profile_update: false });
  const leased = await lease(call, 'following');
  const idle = await lease(call, 'staying');
  await release(call, idle, true, 'staying');
  await logInUnder(call, 'ann', site, 'second');
  expect(await keptIn(leased, site)).toEqual(everywhere('first'));
  await release(call, leased, false, 'following');

  expect(await keptIn(await lease(call, 'following'), site)).toEqual(everywhere('second'));
  const stayed = await lease(call, 'staying');
  expect(stayed.session_id).toBe(idle.session_id);
  expect(await keptIn(stayed, site)).toEqual(everywhere('first'));
});

test("replaces idle and starting browsers before it answers the profile's save @long", async ({ call, site }) => {
  await call('POST', '/profiles', { name: 'ann' });
  const session = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  await logIn(session, site, 'first');
  await call('POST', '/browser_pools', { name: 'ci', size: 2, profile: { name: 'ann' } });
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.available_count).toBeGreaterThan(0);
  expect(await endSession(call, session)).toEqual({ status: 'saved' });
  for (const leased of [await lease(call), await lease(call)])
    expect(await keptIn(leased, site)).toEqual(everywhere('first'));
});

test('removes the profile of a pool if the given id is empty @long', async ({ call, site }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'first');
  await call('POST', '/browser_pools', { name: 'ci', size: 1, profile: { name: 'ann' } });
  await release(call, await lease(call), true);
  const { body: cleared } = await call('PATCH', '/browser_pools/ci', { profile: { id: '' }, discard_all_idle: true });
  expect(cleared).not.toHaveProperty('profile_id');
  expect(cleared.browser_pool_config).toMatchObject({ refresh_on_profile_update: false });
  const leased = await lease(call);
  expect(leased).not.toHaveProperty('profile');
  expect(await keptIn(leased, site)).toEqual({});
});

test('replaces a released browser whose holder gave it another profile @long', async ({ call, site }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const leased = await lease(call);
  const patch = { profile: { name: 'ann', save_changes: true } };
  expect((await call('PATCH', `/browsers/${leased.session_id}`, patch)).body).toMatchObject({
    profile: { name: 'ann' },
    pool: { name: 'ci' },
  });
  await logIn(leased, site, 'leased');
  await release(call, leased, true);
  expect(await profileSaveOf(call, leased)).toEqual({ status: 'saved' });
  const next = await lease(call);
  expect(next.session_id).not.toBe(leased.session_id);
  expect(await keptIn(next, site)).toEqual({});
  expect(await keptIn(await startSession(call, { profile: { name: 'ann' } }), site)).toEqual(everywhere('leased'));
});

test('a pool reports a deleted profile, and fills again when a profile of that name exists', async ({ call }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await call('POST', '/browser_pools', { name: 'ci', size: 1, profile: { name: 'ann' } });
  const leased = await lease(call);
  const patch = { profile: { name: 'ann', save_changes: true } };
  expect(await call('PATCH', `/browsers/${leased.session_id}`, patch)).toMatchObject({ status: 409 });
  await call('DELETE', '/profiles/ann');
  await release(call, leased, false);
  const refused = await call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 30 });
  expect(refused).toMatchObject({
    status: 503,
    body: { message: expect.stringMatching(/profile.* ann: create it first/) },
  });
  await call('POST', '/profiles', { name: 'ann' });
  await call('PATCH', '/browser_pools/ci', {});
  await lease(call);
});
