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
import { isLong } from '../../support/processes/long-form.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { sessionsDirectory } from '../../support/processes/sessions-directory.ts';

const acquire = '/browser_pools/ci/acquire';

test('a service that stops ends its browsers, answers 503 to acquires, and leaves no temporary files', async () => {
  await using temporary = await ownTemporaryDirectory();
  const service = await startService();
  const call = callerOf(service);
  const acquireWithin = (seconds: number) => call('POST', acquire, { acquire_timeout_seconds: seconds });
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: leased } = await acquireWithin(60);
  expect(processesWith(leased.session_id)).not.toEqual([]);
  for (const seconds of [0, 1]) {
    const started = performance.now();
    expect(await acquireWithin(seconds)).toMatchObject({ status: 204, body: '' });
    expect(performance.now() - started).toBeGreaterThanOrEqual(seconds * 1000 - 20);
  }
  const waiting = acquireWithin(30);
  // Answered after the acquire was read, for the service reads in order of arrival.
  await call('GET', '/browser_pools/ci');
  const started = performance.now();
  await service.close();
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(await waiting).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  await expectNoProcessWith(leased.session_id);
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
  const { id, browser_pool_config } = pool;
  expect((await again('GET', '/browser_pools/ci')).body).toMatchObject({ id, browser_pool_config });
  expect((await again('GET', '/profiles/ann')).body).toEqual({ ...(profile as object), storage_origins: [] });
  expect((await again('GET', `/browsers/${session.session_id}?include_deleted=true`)).status).toBe(404);
  expect((await again('POST', '/browser_pools/ci/acquire', {})).status).toBe(200);
});

test('at its start, a service removes files of a killed one, and lets only the owner read its data directory', async ({}, testInfo) => {
  const directory = dataDirectory(testInfo);
  await mkdir(directory, { mode: 0o755 });
  await mkdir(join(directory, 'sessions', 'left', 'root'), { recursive: true });
  await using service = await startService({ dataDirectory: directory });
  expect(existsSync(join(directory, 'sessions', 'left'))).toBe(false);
  expect(await readdir(sessionsDirectory(directory))).toEqual([]);
  const credential = { name: 'ann', domain: 'shop.example', values: { password: 'correct horse' } };
  expect((await callerOf(service)('POST', '/credentials', credential)).status).toBe(201);
  const names = await readdir(directory);
  expect(names).toEqual(expect.arrayContaining(['api-key', 'profiles', 'replays', 'secrets-key', 'service.db']));
  const modes = await Promise.all(
    names.map(async (name) => [name, (await stat(join(directory, name))).mode & forbidden(name)]),
  );
  expect(modes.filter(([, others]) => others !== 0)).toEqual([]);
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

test('a given API key replaces the stored one while the service runs, and no second one shares its data', async ({}, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo) };
  const first = await startService(options);
  await expect(startService(options)).rejects.toThrow(DataDirectoryInUseError);
  const advice = /is in use by another service: use that service, stop it, or choose another directory/;
  await expect(startService(options)).rejects.toThrow(advice);
  expect((await callerOf(first)('GET', '/profiles')).status).toBe(200);
  await first.close();
  const second = await startService({ ...options, apiKey: 'a-key-of-my-own' });
  expect((await callerOf(second)('GET', '/profiles')).status).toBe(200);
  expect((await callerOf({ ...second, apiKey: first.apiKey })('GET', '/profiles')).status).toBe(401);
  await second.close();
  await using third = await startService(options);
  expect(third.apiKey).toBe(first.apiKey);
  expect((await callerOf({ ...third, apiKey: 'a-key-of-my-own' })('GET', '/profiles')).status).toBe(401);
});

test('a service that finds its port in use leaves no process and no locked data', async ({ service }, testInfo) => {
  const directory = dataDirectory(testInfo);
  // Its path is in the command lines of sessions, whose files may be outside the data directory.
  const executable = join(directory, 'chromium');
  await mkdir(directory);
  await writeFile(executable, '#!/bin/sh\nsleep 60\n', { mode: 0o755 });
  const options = { dataDirectory: directory, chromium: { executable }, sessionUids: false } as const;
  const first = await startService(options);
  await callerOf(first)('POST', '/browser_pools', { size: 1, name: 'ci' });
  await expect.poll(() => processesWith(options.dataDirectory)).not.toEqual([]);
  await first.close();
  await expect(startService({ ...options, port: Number(new URL(service.url).port) })).rejects.toThrow(/EADDRINUSE/);
  await expectNoProcessWith(options.dataDirectory);
  await using _second = await startService(options);
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

test('a caller that hangs up while it waits or gets a browser leaves no browser', async ({ service }) => {
  const { call } = service;
  const ways = ['destroy', 'resetAndDestroy', 'end'] as const;
  const pool = async () => (await call('GET', '/browser_pools/ci')).body;
  const isUntouched = () =>
    expect.poll(pool, { timeout: 20_000 }).toMatchObject({ available_count: 1, acquired_count: 0 });
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: leased } = await call('POST', acquire, {});
  const sockets = ways.map((how) => ({ how, socket: send(service, acquire) }));
  const patient = call('POST', acquire, {});
  for (const { how, socket } of sockets) {
    const closed = once(socket.resume(), 'close');
    socket[how]();
    await closed;
  }
  await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id });
  expect((await patient).body.session_id).toBe(leased.session_id);
  await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id });
  await isUntouched();

  for (const how of isLong ? ways.flatMap((each) => Array<typeof each>(5).fill(each)) : ['destroy' as const]) {
    const socket = send(service, acquire).resume();
    await once(socket, 'connect');
    socket[how]();
    await once(socket, 'close');
    await isUntouched();
  }

  const starting = send(service, '/browsers');
  await once(starting, 'connect');
  await call('GET', '/browsers');
  starting.destroy();
  await expect.poll(async () => (await call('GET', '/browsers?status=active')).body).toEqual([]);
});

const moveTo = (at: number) => ({ type: 'move_mouse', move_mouse: { x: at, y: at } });

test('releasing a browser ends its action, and the next holder can act @long', async ({ service: { call } }) => {
  await call('POST', '/browser_pools', { size: 1, name: 'ci', start_url: 'about:blank' });
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', {});
  const path = `/browsers/${leased.session_id}/computer`;
  const actions = [moveTo(5), { type: 'sleep', sleep: { duration_ms: 25_000 } }, moveTo(9)];
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

test('an update renames a session, sets its tags, and removes both', async ({ call }) => {
  const { openapi, paths } = (await call('GET', '/openapi.json')).body;
  expect(openapi).toMatch(/^3\.1/);
  expect(Object.keys(paths['/browser_pools/{id_or_name}']).toSorted()).toEqual(['delete', 'get', 'patch']);

  const asked = { name: 'a', tags: { k: 'v' }, stealth: true, kiosk_mode: true };
  const { body: session } = await call('POST', '/browsers', asked);
  expect(session).toMatchObject({ ...asked, headless: true, timeout_seconds: 60 });
  expect(session.session_id).toMatch(/^[a-z0-9]{24}$/);
  const renamed = { name: 'b', tags: { x: 'y' } };
  expect((await call('PATCH', '/browsers/a', renamed)).body).toMatchObject(renamed);
  expect((await call('PATCH', '/browsers/b', {})).body).toMatchObject(renamed);
  const cleared = (await call('PATCH', '/browsers/b', { name: '', tags: {} })).body;
  expect(cleared).toMatchObject({ tags: {} });
  expect(cleared).not.toHaveProperty('name');
  const path = `/browsers/${session.session_id}`;
  expect((await call('GET', path)).body.usage.uptime_ms).toBeGreaterThan(0);
  for (const status of [204, 404]) expect((await call('DELETE', path)).status).toBe(status);
});

/** Sends a POST over a socket of its own. */
function send({ url, apiKey }: TestService, path: string): ReturnType<typeof connect> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  const headers = `Host: 127.0.0.1\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json`;
  socket.write(`POST ${path} HTTP/1.1\r\n${headers}\r\nContent-Length: 2\r\n\r\n{}`);
  return socket;
}

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
