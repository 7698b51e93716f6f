import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import Libsql from 'libsql';
import type { Clock } from '../../../src/service/process/clock.ts';
import { ApiKeyStore } from '../../../src/service/organization/api-keys.ts';
import { closeDatabase, DatabaseInUseError, openDatabase } from '../../../src/service/database/database.ts';
import { Table } from '../../../src/service/database/table.ts';
import { poolsTable } from '../../../src/service/pools/pools.ts';
import { ProfileStore } from '../../../src/service/profiles/profiles.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { openTestDatabase, projectId } from '../../support/runs/project.ts';
import { expect, test } from '../../support/worker.ts';

function movableClock(): Clock & { time: number } {
  return { time: Date.UTC(2030, 0, 1), now() { return this.time; }, after: () => () => {} }; // prettier-ignore
}

async function databaseFile(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  return `${directory}/service.db`;
}

test('refuses to open a database twice until it is closed', async ({}, testInfo) => {
  const file = await databaseFile(testInfo.outputPath('data'));
  const first = await openDatabase(file);
  const started = performance.now();
  await expect(openDatabase(file)).rejects.toThrow(DatabaseInUseError);
  expect(performance.now() - started).toBeLessThan(2000);
  closeDatabase(first);
  closeDatabase(await openDatabase(file));
});

test('opens the database of a process that was killed', async ({}, testInfo) => {
  const file = await databaseFile(testInfo.outputPath('data'));
  const script = `
    const Libsql = (await import(${JSON.stringify(import.meta.resolve('libsql'))})).default;
    const database = new Libsql(${JSON.stringify(file)});
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('journal_mode = WAL');
    database.exec('BEGIN EXCLUSIVE; COMMIT');
    console.log('held');
    setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  await expect(openDatabase(file)).rejects.toThrow(DatabaseInUseError);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  closeDatabase(await openDatabase(file));
});

test('one of several processes that open a new database at once gets it', async ({}, testInfo) => {
  const file = await databaseFile(testInfo.outputPath('data'));
  const database = fileURLToPath(new URL('../../../build/src/service/database/database.js', import.meta.url));
  const script = `
    const { openDatabase } = await import(${JSON.stringify(database)});
    try { await openDatabase(${JSON.stringify(file)}); console.log('opened'); } catch (error) { console.log(error.name); }
    process.stdin.resume().on('end', () => process.exit());`;
  const openers = Array.from({ length: isLong ? 6 : 3 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const outcomes = await Promise.all(openers.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()));
  for (const opener of openers) opener.stdin.end();
  await Promise.all(openers.map((opener) => once(opener, 'exit')));
  const refused = Array<string>(openers.length - 1).fill('DatabaseInUseError');
  expect(outcomes.toSorted()).toEqual([...refused, 'opened']);
});

test('refuses the database of a newer release, and leaves it unchanged', async ({}, testInfo) => {
  const file = await databaseFile(testInfo.outputPath('data'));
  closeDatabase(await openDatabase(file));
  const newer = new Libsql(file);
  newer.pragma('user_version = 999');
  newer.close();
  await expect(openDatabase(file)).rejects.toThrow(/version 999.*use a newer release, or another data directory/);
  await expect(openDatabase(file)).rejects.toThrow(/version 999/);
});

test('numbers versions from 14 on, like databases made before the first release', async ({}, testInfo) => {
  const file = await databaseFile(testInfo.outputPath('data'));
  closeDatabase(await openDatabase(file));
  const older = new Libsql(file);
  expect(older.pragma('user_version')).toEqual([{ user_version: 14 }]);
  older.pragma('user_version = 13');
  older.close();
  await expect(openDatabase(file)).rejects.toThrow(/version 13, of a playwright-pool before its first release/);
});

test('keeps pools and profiles after the database is closed', async ({}, testInfo) => {
  const file = await databaseFile(testInfo.outputPath('data'));
  const clock = movableClock();
  const settings = { size: 2, fill_rate_per_minute: 25, timeout_seconds: 600, stealth: false, kiosk_mode: false };
  const config = { ...settings, name: 'ci', extensions: [], chrome_policy: {} };
  const { name: _, ...unnamed } = config;
  const first = await openTestDatabase(file);
  new Table(first, poolsTable).insert({ id: 'a', projectId, name: 'ci', config, createdAt: 5 });
  new Table(first, poolsTable).insert({ id: 'b', projectId, config: unnamed, createdAt: 6 });
  const profile = new ProfileStore(first, clock).create(projectId, { name: 'ann' });
  closeDatabase(first);

  const second = await openTestDatabase(file);
  const pools = new Table(second, poolsTable);
  expect(pools.list()).toEqual([
    { id: 'a', projectId, name: 'ci', config, createdAt: 5 },
    { id: 'b', projectId, config: unnamed, createdAt: 6 },
  ]);
  const nightly = { name: 'nightly', config: { ...config, name: 'nightly' } };
  pools.change({ id: 'a' }, nightly);
  pools.delete({ id: 'b' });
  expect(pools.list()).toEqual([{ id: 'a', projectId, ...nightly, createdAt: 5 }]);
  expect(new ProfileStore(second, clock).get(projectId, 'ann')).toEqual(profile);
  closeDatabase(second);
});

test('stores a profile with times and a unique name, and finds it by id and by name', async () => {
  const database = await openTestDatabase();
  const clock = movableClock();
  const profiles = new ProfileStore(database, clock);
  const ann = profiles.create(projectId, { name: 'ann' });
  const created = '2030-01-01T00:00:00.000Z';
  const id = expect.stringMatching(/^[a-z0-9]{24}$/);
  expect(ann).toEqual({ id, name: 'ann', created_at: created, updated_at: created });
  expect(() => profiles.create(projectId, { name: 'ann' })).toThrow(/ann exists already/);
  const nameless = profiles.create(projectId, {});
  expect(profiles.create(projectId, {}).name).toBeNull();
  expect(profiles.resolve(projectId, { id: nameless.id })).toEqual(nameless);
  expect(() => profiles.resolve(projectId, { name: 'bob' })).toThrow(/bob/);

  clock.time += 1000;
  profiles.used(ann.id);
  const now = '2030-01-01T00:00:01.000Z';
  const bob = { ...ann, name: 'bob', updated_at: now, last_used_at: now };
  expect(profiles.update(projectId, 'ann', { name: 'bob' })).toEqual(bob);
  profiles.update(projectId, 'bob', { name: 'bob' });
  profiles.create(projectId, { name: 'cat' });
  expect(() => profiles.update(projectId, 'bob', { name: 'cat' })).toThrow(/cat exists already/);
  profiles.delete(ann.id);
  expect(() => profiles.get(projectId, 'bob')).toThrow(/bob/);
  closeDatabase(database);
});

test("stores an API key as a salted hash, and replaces the service's own key by a newer one", async ({}, testInfo) => {
  const file = await databaseFile(testInfo.outputPath('data'));
  const clock = movableClock();
  const key = 'pwp_a-rather-long-secret-key';
  const first = await openDatabase(file);
  const keys = new ApiKeyStore(first, clock);
  keys.setOwn(key);
  expect(keys.find(key)).toBeTruthy();
  expect(keys.find('pwp_a-rather-long-secret-kez')).toBeUndefined();
  expect(first.prepare('SELECT masked_key FROM api_keys').all()).toEqual([{ masked_key: 'pwp_...-key' }]);
  closeDatabase(first);
  expect((await readFile(file)).includes(key)).toBe(false);

  const second = await openDatabase(file);
  const again = new ApiKeyStore(second, clock);
  expect(again.find(key)).toBeTruthy();
  again.setOwn(key);
  expect(second.prepare('SELECT count(*) AS count FROM api_keys').all()).toEqual([{ count: 1 }]);
  again.setOwn('another-key-of-the-service');
  expect(again.find(key)).toBeUndefined();
  expect(again.find('another-key-of-the-service')).toBeTruthy();
  second.prepare('UPDATE api_keys SET expires_at = ? WHERE deleted_at IS NULL').run(clock.time + 1000);
  expect(again.find('another-key-of-the-service')).toBeTruthy();
  clock.time += 1000;
  expect(again.find('another-key-of-the-service')).toBeUndefined();
  closeDatabase(second);
});
