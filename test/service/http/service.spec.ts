import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { DataDirectoryInUseError } from '../../../src/service/process/start/data-directory.ts';
import { everyStep } from '../../../src/service/process/every-step.ts';
import { startService } from '../../../src/service/service.ts';
import { closeDatabase, openDatabase } from '../../../src/service/database/database.ts';
import { expectNoProcessWith, processesWith } from '../../support/processes/processes.ts';
import { callerOf, dataDirectory, test, type TestService } from '../../support/service/service.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { sessionsDirectory } from '../../support/service/sessions-directory.ts';

test('a service without a data directory leaves no files behind', async () => {
  await using temporary = await ownTemporaryDirectory();
  const service = await startService();
  const { body: session } = await callerOf(service)('POST', '/browsers', {});
  expect(processesWith(session.session_id)).not.toEqual([]);
  await service.close();
  await expectNoProcessWith(session.session_id);
  expect(await readdir(temporary.path)).toEqual([]);
  await expect(fetch(service.url)).rejects.toThrow();
  await service.close();
});

test('a service keeps pools, profiles and its key over a restart, but no sessions @long', async ({}, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo) };
  const first = await startService(options);
  const call = callerOf(first);
  const { body: pool } = await call('POST', '/browser_pools', { size: 1, name: 'ci', timeout_seconds: 30 });
  const { body: profile } = await call('POST', '/profiles', { name: 'ann' });
  const { body: session } = await call('POST', '/browsers', { name: 'x' });
  const keyFile = join(options.dataDirectory, 'api-key');
  expect((await readFile(keyFile, 'utf8')).trim()).toBe(first.apiKey);
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
  expect((await stat(join(options.dataDirectory, 'service.db'))).mode & 0o777).toBe(0o600);
  // As root, the users of sessions must reach their directories below it.
  const isRoot = process.getuid?.() === 0;
  expect((await stat(options.dataDirectory)).mode & 0o777).toBe(isRoot ? 0o711 : 0o700);
  await first.close();
  expect(existsSync(join(options.dataDirectory, 'sessions'))).toBe(false);

  await using second = await startService(options);
  expect(second.apiKey).toBe(first.apiKey);
  const again = callerOf(second);
  expect((await again('GET', '/browser_pools/ci')).body).toMatchObject({
    id: pool.id,
    browser_pool_config: pool.browser_pool_config,
  });
  expect((await again('GET', '/profiles/ann')).body).toEqual({ ...(profile as object), storage_origins: [] });
  expect((await again('GET', `/browsers/${session.session_id}?include_deleted=true`)).status).toBe(404);
  expect((await again('POST', '/browser_pools/ci/acquire', {})).status).toBe(200);
});

test('only the owner can read a data directory, even if its parent is open to others', async ({}, testInfo) => {
  const directory = dataDirectory(testInfo);
  await mkdir(directory, { mode: 0o755 });
  await using service = await startService({ dataDirectory: directory });
  const credential = { name: 'ann', domain: 'shop.example', values: { password: 'correct horse' } };
  expect((await callerOf(service)('POST', '/credentials', credential)).status).toBe(201);
  const names = await readdir(directory);
  expect(names).toEqual(expect.arrayContaining(['api-key', 'profiles', 'replays', 'secrets-key', 'service.db']));
  const modes = await Promise.all(
    names.map(async (name) => [name, (await stat(join(directory, name))).mode & forbidden(name)]),
  );
  expect(modes.filter(([, others]) => others !== 0)).toEqual([]);
});

test('removes files of sessions that a killed service left', async ({}, testInfo) => {
  const directory = dataDirectory(testInfo);
  await mkdir(join(directory, 'sessions', 'left', 'root'), { recursive: true });
  await using _service = await startService({ dataDirectory: directory });
  expect(existsSync(join(directory, 'sessions', 'left'))).toBe(false);
  expect(await readdir(sessionsDirectory(directory))).toEqual([]);
});

test('on closing, removes the files of sessions before another service can use the data directory', async ({}, testInfo) => {
  const directory = dataDirectory(testInfo);
  const service = await startService({ dataDirectory: directory });
  const left = sessionDirectory(directory, 'left');
  await mkdir(left);
  for (let count = 0; count < 1000; count += 1) await writeFile(join(left, String(count)), '');
  const closed = service.close();
  const opened = () => openDatabase(join(directory, 'service.db')).catch(() => undefined);
  let database = await opened();
  while (!database) database = await opened();
  const isLeft = existsSync(left);
  closeDatabase(database);
  await closed;
  expect(isLeft).toBe(false);
});

test('a given API key replaces the stored one while the service runs', async ({}, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo) };
  const first = await startService(options);
  await first.close();
  const second = await startService({ ...options, apiKey: 'a-key-of-my-own' });
  expect((await callerOf(second)('GET', '/profiles')).status).toBe(200);
  expect((await callerOf({ ...second, apiKey: first.apiKey })('GET', '/profiles')).status).toBe(401);
  await second.close();
  await using third = await startService(options);
  expect(third.apiKey).toBe(first.apiKey);
  expect((await callerOf({ ...third, apiKey: 'a-key-of-my-own' })('GET', '/profiles')).status).toBe(401);
});

test('refuses to start a second service on the same data directory', async ({}, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo) };
  const first = await startService(options);
  await expect(startService(options)).rejects.toThrow(DataDirectoryInUseError);
  await expect(startService(options)).rejects.toThrow(
    /is in use by another service: use that service, stop it, or choose another directory/,
  );
  expect((await callerOf(first)('GET', '/profiles')).status).toBe(200);
  await first.close();
  await using _second = await startService(options);
});

test('a service that finds its port in use leaves no process, and releases its data directory', async ({
  service,
}, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo) };
  const first = await startService(options);
  await callerOf(first)('POST', '/browser_pools', { size: 1, name: 'ci' });
  await first.close();
  await expect(startService({ ...options, port: Number(new URL(service.url).port) })).rejects.toThrow(/EADDRINUSE/);
  await expectNoProcessWith(options.dataDirectory);
  await using _second = await startService(options);
});

test('stopping the service answers waiting callers, ends browsers and refuses connections', async () => {
  const service = await startService();
  const call = callerOf(service);
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', {});
  const waiting = call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 30 });
  // Answered after the acquire was read, for the service reads in order of arrival.
  await call('GET', '/browser_pools/ci');
  const started = performance.now();
  await service.close();
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(await waiting).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  await expectNoProcessWith(leased.session_id);
});

test('the shutdown takes every step although one failed, and reports the first failure', async () => {
  const taken: string[] = [];
  const failing = (name: string) => {
    taken.push(name);
    throw new Error(`${name} failed`);
  };
  const ended = everyStep(
    () => taken.push('first'),
    async () => failing('second'),
    () => failing('third'),
    async () => taken.push('last'),
  );
  await expect(ended).rejects.toThrow('second failed');
  expect(taken).toEqual(['first', 'second', 'third', 'last']);
});

test('answers 204 to an acquire after its timeout, and at once if the timeout is 0', async ({ service: { call } }) => {
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  await call('POST', '/browser_pools/ci/acquire', {});
  for (const seconds of [0, 1]) {
    const started = performance.now();
    expect(await call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: seconds })).toMatchObject({
      status: 204,
      body: '',
    });
    expect(performance.now() - started).toBeGreaterThanOrEqual(seconds * 1000 - 20);
  }
});

/** Sends an acquire over a socket of its own. */
function sendAcquire({ url, apiKey }: TestService): ReturnType<typeof connect> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  socket.write(
    `POST /browser_pools/ci/acquire HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
  );
  return socket;
}

const counts = async ({ call }: TestService) => {
  const { available_count, acquired_count } = (await call('GET', '/browser_pools/ci')).body;
  return { available_count, acquired_count };
};
const untouched = { available_count: 1, acquired_count: 0 };

test('a waiting caller that hangs up costs the pool no browser', async ({ service }) => {
  const { call } = service;
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', {});
  const sockets = (['destroy', 'resetAndDestroy', 'end'] as const).map((how) => ({
    how,
    socket: sendAcquire(service),
  }));
  const patient = call('POST', '/browser_pools/ci/acquire', {});
  for (const { how, socket } of sockets) {
    const closed = once(socket.resume(), 'close');
    socket[how]();
    await closed;
  }
  await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id });
  expect((await patient).body.session_id).toBe(leased.session_id);
  await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id });
  await expect.poll(() => counts(service)).toEqual(untouched);
});

for (const how of ['destroy', 'resetAndDestroy', 'end'] as const) {
  test(`takes a browser back if the caller hangs up (${how}) at the moment of the grant${how === 'destroy' ? '' : ' @long'}`, async ({
    service,
  }) => {
    await service.call('POST', '/browser_pools', { size: 1, name: 'ci' });
    await expect.poll(() => counts(service), { timeout: 20_000 }).toEqual(untouched);
    for (let turn = 0; turn < 5; turn += 1) {
      const socket = sendAcquire(service).resume();
      await once(socket, 'connect');
      socket[how]();
      await once(socket, 'close');
      await expect.poll(() => counts(service), { timeout: 20_000 }).toEqual(untouched);
    }
  });
}

test('leaves no browser of a session whose caller hangs up while it starts', async ({ service }) => {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {});
  socket.write(
    `POST /browsers HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${service.apiKey}\r\nContent-Length: 0\r\n\r\n`,
  );
  await once(socket, 'connect');
  await service.call('GET', '/browsers');
  socket.destroy();
  await expect.poll(async () => (await service.call('GET', '/browsers?status=active')).body).toEqual([]);
});

test('releasing a browser ends its running action, and the next holder can act at once @long', async ({
  service: { call },
}) => {
  await call('POST', '/browser_pools', { size: 1, name: 'ci', start_url: 'about:blank' });
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', {});
  const path = `/browsers/${leased.session_id}/computer`;
  const actions = [
    { type: 'move_mouse', move_mouse: { x: 5, y: 5 } },
    { type: 'sleep', sleep: { duration_ms: 25_000 } },
    { type: 'move_mouse', move_mouse: { x: 9, y: 9 } },
  ];
  const acting = call('POST', `${path}/batch`, { actions });
  await expect.poll(async () => (await call('POST', `${path}/get_mouse_position`)).body).toEqual({ x: 5, y: 5 });
  await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id, reuse: true });
  expect((await call('POST', '/browser_pools/ci/acquire', {})).body.session_id).toBe(leased.session_id);
  expect((await call('POST', `${path}/move_mouse`, { x: 7, y: 7 })).status).toBe(200);
  expect(await acting).toMatchObject({
    status: 409,
    body: { code: 'conflict', message: expect.stringContaining('was released during the action') },
  });
});

test('the OpenAPI document describes every operation and needs no key', async ({ service }) => {
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
    openapi: string;
    paths: Record<string, object>;
  };
  expect(document.openapi).toMatch(/^3\.1/);
  expect(Object.keys(document.paths['/browser_pools/{id_or_name}'] ?? {}).toSorted()).toEqual([
    'delete',
    'get',
    'patch',
  ]);
});

test('an update renames a session, sets its tags, and removes both', async ({ service: { call } }) => {
  const { body: session } = await call('POST', '/browsers', {
    name: 'a',
    tags: { k: 'v' },
    stealth: true,
    kiosk_mode: true,
  });
  expect(session).toMatchObject({
    name: 'a',
    tags: { k: 'v' },
    stealth: true,
    kiosk_mode: true,
    headless: true,
    timeout_seconds: 60,
  });
  expect(session.session_id).toMatch(/^[a-z0-9]{24}$/);
  expect((await call('PATCH', '/browsers/a', { name: 'b', tags: { x: 'y' } })).body).toMatchObject({
    name: 'b',
    tags: { x: 'y' },
  });
  expect((await call('PATCH', '/browsers/b', {})).body).toMatchObject({ name: 'b', tags: { x: 'y' } });
  const cleared = (await call('PATCH', '/browsers/b', { name: '', tags: {} })).body;
  expect(cleared).toMatchObject({ tags: {} });
  expect(cleared).not.toHaveProperty('name');
  expect((await call('GET', `/browsers/${session.session_id}`)).body.usage.uptime_ms).toBeGreaterThan(0);
  expect((await call('DELETE', `/browsers/${session.session_id}`)).status).toBe(204);
  expect((await call('DELETE', `/browsers/${session.session_id}`)).status).toBe(404);
});

/** In the system's own one, others make theirs meanwhile. */
async function ownTemporaryDirectory(): Promise<AsyncDisposable & { path: string }> {
  const before = tmpdir();
  const path = await mkdtemp(join(before, 'temporary-'));
  process.env['TMPDIR'] = path;
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      process.env['TMPDIR'] = before;
      await rm(path, { recursive: true });
    },
  };
}

/** The rights that others must not have. As root, the users of sessions may enter `sessions`, but not read it. */
function forbidden(name: string): number {
  return name === 'sessions' && process.getuid?.() === 0 ? 0o066 : 0o077;
}
