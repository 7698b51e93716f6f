import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { startService } from '../../../src/service/service.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { sessionsIn } from '../../support/processes/sessions-directory.ts';
import { Ann, test, testOnDisk } from './ann.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { everywhere, keptIn, startSession } from '../../support/service/profiles.ts';
import { callerOf } from '../../support/service/service.ts';

test.describe.configure({ mode: 'default' });

test('saves a profile before it answers the end of the session, and the next session starts from it', async ({
  call,
  ann,
  clock,
}) => {
  const profile = await ann.create();
  const first = await ann.start();
  await ann.logIn(first, 'first');
  const path = `/browsers/${first.session_id}`;
  clock.advance(1000);
  const ending = call('DELETE', path);
  await expect.poll(async () => (await call('GET', path)).status).toBe(404);
  // A repeated call also waits until the profile is saved.
  expect((await call('DELETE', path)).status).toBe(404);
  expect(await ann.saveOf(first)).toEqual({ status: 'saved' });
  expect((await ending).status).toBe(204);
  const { body: saved } = await call('GET', '/profiles/ann');
  expect(Date.parse(saved.updated_at)).toBeGreaterThan(Date.parse(profile.updated_at));
  expect(saved.last_used_at).toBeTruthy();
  expect(profile.size_bytes).toBeUndefined();
  expect(saved.size_bytes).toBeGreaterThan(1000);

  const next = await startSession(call, { profile: { id: profile.id } });
  expect(next).toMatchObject({ profile: { id: profile.id, name: 'ann' } });
  await ann.expectLogin('first', next);
  await ann.logIn(next, 'unsaved');
  expect(await ann.end(next)).toBeUndefined();

  const last = await ann.start({ profile: { name: 'ann', save_changes: false } });
  await ann.expectLogin('first', last);
  expect((await call('GET', '/profiles/ann')).body.updated_at).toBe(saved.updated_at);
  expect(last.profile_version).toBe(next.profile_version);
});

test('shows the new name of a renamed profile on sessions and idle browsers @long', async ({ call, ann }) => {
  const { id } = await ann.create();
  const session = await ann.startCopy();
  await call('POST', '/browser_pools', { name: 'ci', size: 1, profile: { name: 'ann' } });
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.available_count).toBe(1);
  const starting = call('POST', '/browsers', { profile: { id } });
  await call('PATCH', '/profiles/ann', { name: 'anna' });
  const renamed = { profile: { id, name: 'anna' } };
  expect((await call('GET', `/browsers/${session.session_id}`)).body).toMatchObject(renamed);
  expect((await call('POST', '/browser_pools/ci/acquire', {})).body).toMatchObject(renamed);
  expect((await starting).body).toMatchObject(renamed);
  expect((await call('GET', '/browsers?query=anna')).body).toHaveLength(3);
});

test('sessions that use the same profile do not affect each other @long', async ({ ann }) => {
  await ann.createWith('first');
  const [one, other] = await Promise.all([ann.startCopy(), ann.startCopy()]);
  await ann.logIn(one, 'second');
  await ann.expectLogin('first', other);
  await ann.expectLogin('second', one);
});

test('keeps the last of two profile saves, and tells both sessions @long', async ({ ann }) => {
  await ann.create();
  const [one, other] = [await ann.start(), await ann.start()];
  await ann.logIn(one, 'one');
  await ann.logIn(other, 'other');
  expect(await ann.end(one)).toEqual({ status: 'saved' });
  expect(await ann.end(other)).toEqual(told('overwrote', one));
  expect(await ann.saveOf(one)).toEqual(told('overwritten', other));
  await ann.expectLogin('other');
});

/** The result of a save in conflict with the save of another session. */
function told(status: string, { session_id }: { session_id: string }): object {
  return { status, message: expect.stringContaining(session_id), other_session_id: session_id };
}

test('a save makes a new version, and is no overwritten one after a start from the last version @long', async ({
  call,
  ann,
}) => {
  await ann.createWith('one');
  const last = await ann.startCopy();
  await ann.save('two');
  expect((await ann.startCopy()).profile_version).not.toBe(last.profile_version);
  const { body: ended } = await call('GET', '/browsers?status=deleted');
  expect(ended.map(({ profile_save }: { profile_save: object }) => profile_save)).toEqual([
    { status: 'saved' },
    { status: 'saved' },
  ]);
});

test('saves the profile at the idle timeout @long', async ({ ann, clock }) => {
  await ann.create();
  const session = await ann.start({ timeout_seconds: 10 });
  await ann.logIn(session, 'idle');
  clock.advance(10_000);
  await expect.poll(() => ann.saveOf(session)).toEqual({ status: 'saved' });
  await ann.expectLogin('idle');
});

test('saves the profile when a client closes the browser @long', async ({ ann, site }) => {
  await ann.create();
  const session = await ann.start();
  await ann.logIn(session, 'closed');
  const socket = new WebSocket(session.cdp_ws_url);
  socket.once('open', () => socket.send('{"id":1,"method":"Browser.close"}'));
  await expect.poll(() => ann.saveOf(session)).toEqual({ status: 'saved' });
  // Chromium forgets its session cookies if it ends by itself.
  const { sessionCookie: _, ...lasting } = everywhere('closed');
  expect(await keptIn(await ann.startCopy(), site)).toEqual(lasting);
});

testOnDisk(
  'keeps only the last version of a profile, and none of a deleted one @long',
  async ({ call, ann, directory }) => {
    const versions = () => readdirSync(join(directory, 'profiles'));
    await ann.create();
    expect(versions()).toEqual([]);
    await ann.save('one');
    const [first] = versions();
    await ann.save('two');
    expect(versions()).toHaveLength(1);
    expect(versions()).not.toContain(first);

    const session = await ann.start();
    expect((await call('DELETE', '/profiles/ann')).status).toBe(204);
    expect(versions()).toEqual([]);
    await ann.expectLogin('two', session);
    const message = expect.stringContaining('was deleted');
    expect(await call('DELETE', `/browsers/${session.session_id}`)).toMatchObject({ status: 409, body: { message } });
    expect(await ann.saveOf(session)).toEqual({ status: 'failed', message });
    expect(versions()).toEqual([]);
    expect(sessionsIn(directory)).toEqual([]);
  },
);

testOnDisk(
  'saves profiles when the service stops, for the next service, with the sites that have storage in them @long',
  async ({ service, ann, site, directory }) => {
    const originsIn = async ({ call }: { call: typeof service.call }) =>
      (await call('GET', '/profiles/ann')).body.storage_origins;
    await ann.create();
    expect(await originsIn(service)).toEqual([]);
    await ann.save('first');
    const { origin } = new URL(site);
    expect(await originsIn(service)).toEqual([origin]);
    const other = site.replace('localhost', '127.0.0.1');
    await new Ann(service.call, other).save('first');
    expect(await originsIn(service)).toEqual([new URL(other).origin, origin]);
    await ann.logIn(await ann.start(), 'last');
    await service.close();

    await using next = await startService({ dataDirectory: directory });
    const call = callerOf(next);
    expect(await originsIn({ call })).toHaveLength(2);
    await new Ann(call, site).expectLogin('last');
  },
);

test.describe('a session that gets its profile later', () => {
  test('a running session restarts from a copy of a profile, and saves it @long', async ({ call, ann, site }) => {
    await ann.createWith('first');
    const session = await startSession(call, { tags: { a: 'b' }, start_url: site });
    const path = `/browsers/${session.session_id}`;
    await call('PUT', `${path}/fs/write_file?path=/kept.txt`, 'file');
    const patch = { name: 'late', profile: { name: 'ann', save_changes: true } };
    const { status, body: updated } = await call('PATCH', path, patch);
    expect(status, JSON.stringify(updated)).toBe(200);
    expect(updated).toMatchObject({ ...session, name: 'late', profile: { name: 'ann' }, usage: expect.anything() });
    await ann.expectLogin('first', session);
    expect((await call('GET', `${path}/fs/read_file?path=/kept.txt`)).body).toBe('file');
    await ann.logIn(session, 'second');
    expect(await ann.end(session)).toEqual({ status: 'saved' });
    await ann.expectLogin('second');
  });

  test('refuses a missing profile, and one while a client is connected @long', async ({ call, ann }) => {
    await ann.create();
    const session = await startSession(call, { name: 'before' });
    await ann.logIn(session, 'own');
    const patch = (profile: object) => call('PATCH', `/browsers/${session.session_id}`, { name: 'after', profile });
    const client = new WebSocket(session.cdp_ws_url);
    await once(client, 'open');
    const connected = { status: 409, body: { message: expect.stringContaining('disconnect') } };
    expect(await patch({ name: 'ann' })).toMatchObject(connected);
    client.close();
    expect(await patch({ name: 'nobody' })).toMatchObject({ status: 400 });
    const { body: unchanged } = await call('GET', `/browsers/${session.session_id}`);
    expect(unchanged).toMatchObject({ name: 'before' });
    expect(unchanged).not.toHaveProperty('profile');
    await ann.expectLogin('own', session);
  });

  test('saves the profile of a session if its last PATCH asks for it @long', async ({ call, ann }) => {
    await ann.create();
    for (const [value, saves, end, kept] of [
      ['first', [false, true], 'saved', 'first'],
      ['second', [true, false], 'discarded', 'first'],
    ] as const) {
      const session = await ann.start();
      const client = new WebSocket(session.cdp_ws_url);
      await once(client, 'open');
      for (const save_changes of saves) {
        const patch = { profile: { name: 'ann', save_changes } };
        expect(await call('PATCH', `/browsers/${session.session_id}`, patch)).toMatchObject({ status: 200 });
      }
      client.close();
      await ann.logIn(session, value);
      expect(await ann.end(session)).toMatchObject({ status: end });
      await ann.expectLogin(kept);
    }
  });

  testOnDisk(
    'leaves nothing of a session that ends while it gets a profile @long',
    async ({ call, ann, directory }) => {
      await ann.createWith('first');
      const session = await startSession(call, {});
      const path = `/browsers/${session.session_id}`;
      const patched = call('PATCH', path, { profile: { name: 'ann', save_changes: true } });
      const userData = () =>
        readdirSync(sessionDirectory(directory, session.session_id)).filter((name) => name.startsWith('user-data'));
      await expect.poll(userData, { intervals: [1] }).toHaveLength(2);
      expect(await call('DELETE', path)).toMatchObject({ status: 204 });
      expect(await patched).toMatchObject({ status: 409, body: { message: expect.stringContaining('ended') } });
      expect(sessionsIn(directory)).toEqual([]);
      await expectNoProcessWith(session.session_id);
      await ann.expectLogin('first');
    },
  );
});
