import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { startService } from '../../../src/service/service.ts';
import { TestClock } from '../../support/service/clock.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { callerOf, dataDirectory } from '../../support/service/service.ts';
import { endSession, everywhere, keptIn, logIn, logInUnder } from '../../support/service/profiles.ts';
import { profileSaveOf, startSession, test } from '../../support/service/profiles.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { sessionsIn } from '../../support/processes/sessions-directory.ts';

test("saves a profile before it answers the session's end; the next session starts from it", async ({ call, site }) => {
  const { body: profile } = await call('POST', '/profiles', { name: 'ann' });
  const first = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  await logIn(first, site, 'first');
  const path = `/browsers/${first.session_id}`;
  const ending = call('DELETE', path);
  await expect.poll(async () => (await call('GET', path)).status).toBe(404);
  // A repeated call also waits until the profile is saved.
  expect((await call('DELETE', path)).status).toBe(404);
  expect(await profileSaveOf(call, first)).toEqual({ status: 'saved' });
  expect((await ending).status).toBe(204);
  const { body: saved } = await call('GET', '/profiles/ann');
  expect(Date.parse(saved.updated_at)).toBeGreaterThan(Date.parse(profile.updated_at));
  expect(saved.last_used_at).toBeTruthy();
  expect(profile.size_bytes).toBeUndefined();
  expect(saved.size_bytes).toBeGreaterThan(1000);

  const next = await startSession(call, { profile: { id: profile.id } });
  expect(next).toMatchObject({ profile: { id: profile.id, name: 'ann' } });
  expect(await keptIn(next, site)).toEqual(everywhere('first'));
  await logIn(next, site, 'unsaved');
  expect(await endSession(call, next)).toBeUndefined();

  const last = await startSession(call, { profile: { name: 'ann', save_changes: false } });
  expect(await keptIn(last, site)).toEqual(everywhere('first'));
  expect((await call('GET', '/profiles/ann')).body.updated_at).toBe(saved.updated_at);
  expect(last.profile_version).toBe(next.profile_version);
  await logInUnder(call, 'ann', site, 'second');
  const newest = await startSession(call, { profile: { name: 'ann' } });
  expect(newest.profile_version).not.toBe(last.profile_version);
});

test('a profile lists the sites with storage in it, also after a restart @long', async ({ site }, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo), apiKey: 'key' };
  const { origin } = new URL(site);
  {
    await using service = await startService(options);
    const call = callerOf(service);
    await call('POST', '/profiles', { name: 'ann' });
    expect((await call('GET', '/profiles/ann')).body.storage_origins).toEqual([]);
    await logInUnder(call, 'ann', site, 'first');
    expect((await call('GET', '/profiles/ann')).body.storage_origins).toEqual([origin]);
    const other = site.replace('localhost', '127.0.0.1');
    await logInUnder(call, 'ann', other, 'first');
    expect((await call('GET', '/profiles/ann')).body.storage_origins).toEqual([new URL(other).origin, origin]);
  }
  await using service = await startService(options);
  expect((await callerOf(service)('GET', '/profiles/ann')).body.storage_origins).toHaveLength(2);
});

test('shows the new name of a renamed profile on sessions and idle browsers @long', async ({ call }) => {
  const { body: profile } = await call('POST', '/profiles', { name: 'ann' });
  const session = await startSession(call, { profile: { name: 'ann' } });
  await call('POST', '/browser_pools', { name: 'ci', size: 1, profile: { name: 'ann' } });
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.available_count).toBe(1);
  const starting = call('POST', '/browsers', { profile: { id: profile.id } });
  await call('PATCH', '/profiles/ann', { name: 'anna' });
  const renamed = { profile: { id: profile.id, name: 'anna' } };
  expect((await call('GET', `/browsers/${session.session_id}`)).body).toMatchObject(renamed);
  expect((await call('POST', '/browser_pools/ci/acquire', {})).body).toMatchObject(renamed);
  expect((await starting).body).toMatchObject(renamed);
  expect((await call('GET', '/browsers?query=anna')).body).toHaveLength(3);
});

test('sessions that use the same profile do not affect each other @long', async ({ call, site }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'first');
  const [one, other] = await Promise.all([1, 2].map(() => startSession(call, { profile: { name: 'ann' } })));
  await logIn(one!, site, 'second');
  expect(await keptIn(other!, site)).toEqual(everywhere('first'));
  expect(await keptIn(one!, site)).toEqual(everywhere('second'));
});

test('keeps the last of two profile saves, and tells both sessions @long', async ({ call, site }) => {
  await call('POST', '/profiles', { name: 'ann' });
  const start = () => startSession(call, { profile: { name: 'ann', save_changes: true } });
  const [one, other] = [await start(), await start()];
  await logIn(one, site, 'one');
  await logIn(other, site, 'other');
  expect(await endSession(call, one)).toEqual({ status: 'saved' });
  expect(await endSession(call, other)).toEqual({
    status: 'overwrote',
    message: expect.stringContaining(one.session_id),
    other_session_id: one.session_id,
  });
  expect(await profileSaveOf(call, one)).toEqual({
    status: 'overwritten',
    message: expect.stringContaining(other.session_id),
    other_session_id: other.session_id,
  });
  expect(await keptIn(await startSession(call, { profile: { name: 'ann' } }), site)).toEqual(everywhere('other'));
});

test('reports no overwritten save after a start from the last version @long', async ({ call, site }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'one');
  await logInUnder(call, 'ann', site, 'two');
  const { body: ended } = await call('GET', '/browsers?status=deleted');
  expect(ended.map(({ profile_save }: { profile_save: object }) => profile_save)).toEqual([
    { status: 'saved' },
    { status: 'saved' },
  ]);
});

test('saves the profile at the idle timeout @long', async ({ site }) => {
  const clock = new TestClock();
  await using service = await startService({ clock });
  const call = callerOf(service);
  await call('POST', '/profiles', { name: 'ann' });
  const session = await startSession(call, { profile: { name: 'ann', save_changes: true }, timeout_seconds: 10 });
  await logIn(session, site, 'idle');
  clock.advance(10_000);
  await expect.poll(() => profileSaveOf(call, session)).toEqual({ status: 'saved' });
  expect(await keptIn(await startSession(call, { profile: { name: 'ann' } }), site)).toEqual(everywhere('idle'));
});

test('saves profiles when the service stops, for the next service @long', async ({ site }, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo) };
  const first = await startService(options);
  await callerOf(first)('POST', '/profiles', { name: 'ann' });
  await logIn(await startSession(callerOf(first), { profile: { name: 'ann', save_changes: true } }), site, 'first');
  await first.close();

  await using second = await startService(options);
  const session = await startSession(callerOf(second), { profile: { name: 'ann' } });
  expect(await keptIn(session, site)).toEqual(everywhere('first'));
});

test('saves the profile when a client closes the browser @long', async ({ call, site }) => {
  await call('POST', '/profiles', { name: 'ann' });
  const session = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  await logIn(session, site, 'closed');
  const socket = new WebSocket(session.cdp_ws_url);
  socket.once('open', () => socket.send('{"id":1,"method":"Browser.close"}'));
  await expect.poll(() => profileSaveOf(call, session)).toEqual({ status: 'saved' });
  // Chromium forgets its session cookies if it ends by itself.
  const { sessionCookie: _, ...lasting } = everywhere('closed');
  expect(await keptIn(await startSession(call, { profile: { name: 'ann' } }), site)).toEqual(lasting);
});

test('keeps only the last version of a profile, and none of a deleted one @long', async ({ site }, testInfo) => {
  const directory = dataDirectory(testInfo);
  await using service = await startService({ dataDirectory: directory });
  const call = callerOf(service);
  const versions = () => readdirSync(join(directory, 'profiles'));
  await call('POST', '/profiles', { name: 'ann' });
  expect(versions()).toEqual([]);
  await logInUnder(call, 'ann', site, 'one');
  const [first] = versions();
  await logInUnder(call, 'ann', site, 'two');
  expect(versions()).toHaveLength(1);
  expect(versions()).not.toContain(first);

  const session = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  expect((await call('DELETE', '/profiles/ann')).status).toBe(204);
  expect(versions()).toEqual([]);
  expect(await keptIn(session, site)).toEqual(everywhere('two'));
  expect(await call('DELETE', `/browsers/${session.session_id}`)).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('was deleted') },
  });
  expect(await profileSaveOf(call, session)).toEqual({
    status: 'failed',
    message: expect.stringContaining('was deleted'),
  });
  expect(versions()).toEqual([]);
  expect(sessionsIn(directory)).toEqual([]);
});

test.describe('a session that gets its profile later', () => {
  test('a running session restarts from a copy of a profile, and saves it @long', async ({ call, site }) => {
    await call('POST', '/profiles', { name: 'ann' });
    await logInUnder(call, 'ann', site, 'first');
    const session = await startSession(call, { tags: { a: 'b' }, start_url: site });
    await call('PUT', `/browsers/${session.session_id}/fs/write_file?path=/kept.txt`, 'file');
    const { status, body: updated } = await call('PATCH', `/browsers/${session.session_id}`, {
      name: 'late',
      profile: { name: 'ann', save_changes: true },
    });
    expect(status, JSON.stringify(updated)).toBe(200);
    expect(updated).toMatchObject({ ...session, name: 'late', profile: { name: 'ann' }, usage: expect.anything() });
    expect(await keptIn(session, site)).toEqual(everywhere('first'));
    expect((await call('GET', `/browsers/${session.session_id}/fs/read_file?path=/kept.txt`)).body).toBe('file');
    await logIn(session, site, 'second');
    expect(await endSession(call, session)).toEqual({ status: 'saved' });
    expect(await keptIn(await startSession(call, { profile: { name: 'ann' } }), site)).toEqual(everywhere('second'));
  });

  test('refuses a missing profile, and one while a client is connected @long', async ({ call, site }) => {
    await call('POST', '/profiles', { name: 'ann' });
    const session = await startSession(call, { name: 'before' });
    await logIn(session, site, 'own');
    const patch = (profile: object) => call('PATCH', `/browsers/${session.session_id}`, { name: 'after', profile });
    const client = new WebSocket(session.cdp_ws_url);
    await once(client, 'open');
    expect(await patch({ name: 'ann' })).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('disconnect') },
    });
    client.close();
    expect(await patch({ name: 'nobody' })).toMatchObject({ status: 400 });
    const { body: unchanged } = await call('GET', `/browsers/${session.session_id}`);
    expect(unchanged).toMatchObject({ name: 'before' });
    expect(unchanged).not.toHaveProperty('profile');
    expect(await keptIn(session, site)).toEqual(everywhere('own'));
  });

  test('saves the profile of a session if its last PATCH asks for it @long', async ({ call, site }) => {
    await call('POST', '/profiles', { name: 'ann' });
    for (const [value, saves, end, kept] of [
      ['first', [false, true], 'saved', 'first'],
      ['second', [true, false], 'discarded', 'first'],
    ] as const) {
      const session = await startSession(call, { profile: { name: 'ann', save_changes: true } });
      const client = new WebSocket(session.cdp_ws_url);
      await once(client, 'open');
      for (const save_changes of saves) {
        const patch = { profile: { name: 'ann', save_changes } };
        expect(await call('PATCH', `/browsers/${session.session_id}`, patch)).toMatchObject({ status: 200 });
      }
      client.close();
      await logIn(session, site, value);
      expect(await endSession(call, session)).toMatchObject({ status: end });
      expect(await keptIn(await startSession(call, { profile: { name: 'ann' } }), site)).toEqual(everywhere(kept));
    }
  });

  test('a running session gets one of two profiles that are requested at the same time', async ({ call }) => {
    const profiles = ['ann', 'bob'];
    for (const name of profiles) await call('POST', '/profiles', { name });
    const { session_id } = await startSession(call, {});
    const answers = await Promise.all(
      profiles.map((name) => call('PATCH', `/browsers/${session_id}`, { profile: { name } })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 409]);
    expect((await call('GET', `/browsers/${session_id}`)).body.profile).toMatchObject({ name: 'ann' });
  });

  test('leaves nothing of a session that ends while it gets a profile @long', async ({ site }, testInfo) => {
    const directory = dataDirectory(testInfo);
    await using service = await startService({ dataDirectory: directory });
    const call = callerOf(service);
    await call('POST', '/profiles', { name: 'ann' });
    await logInUnder(call, 'ann', site, 'first');
    const session = await startSession(call, {});
    const patched = call('PATCH', `/browsers/${session.session_id}`, { profile: { name: 'ann', save_changes: true } });
    await expect
      .poll(() => userDataDirectories(sessionDirectory(directory, session.session_id)), { intervals: [1] })
      .toHaveLength(2);
    expect(await call('DELETE', `/browsers/${session.session_id}`)).toMatchObject({ status: 204 });
    expect(await patched).toMatchObject({ status: 409, body: { message: expect.stringContaining('ended') } });
    expect(sessionsIn(directory)).toEqual([]);
    await expectNoProcessWith(session.session_id);
    expect(await keptIn(await startSession(call, { profile: { name: 'ann' } }), site)).toEqual(everywhere('first'));
  });
});

function userDataDirectories(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.startsWith('user-data'));
}
