import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProfileDirectories } from '../../../src/service/profiles/profile-directories.ts';
import { closeDatabase } from '../../../src/service/database/database.ts';
import { ProfileStore } from '../../../src/service/profiles/profiles.ts';
import { TestClock } from '../../support/service/clock.ts';
import { openTestDatabase, projectId } from '../../support/runs/project.ts';
import { expect, test as base } from '../../support/worker.ts';

type Profiles = {
  store: ProfileStore;
  /** The ids of the saved profiles, in order. */
  saved: string[];
  open: () => Promise<ProfileDirectories>;
  /** A new copy of a profile, and its directory. */
  copy: (
    directories: ProfileDirectories,
    id: string,
  ) => ReturnType<ProfileDirectories['copy']> extends Promise<infer C> ? Promise<C & { directory: string }> : never;
};

const test = base.extend<{ profiles: Profiles; directory: string }>({
  directory: async ({}, use, testInfo) => await use(testInfo.outputPath('profiles')),
  profiles: async ({ directory }, use, testInfo) => {
    const database = await openTestDatabase();
    const store = new ProfileStore(database, new TestClock());
    const saved: string[] = [];
    let copies = 0;
    await use({
      store,
      saved,
      open: () => ProfileDirectories.open({ directory, records: store, onSaved: (id) => saved.push(id) }),
      async copy(directories, id) {
        const directory = testInfo.outputPath(`copy-${(copies += 1)}`);
        return { ...(await directories.copy(id, directory, new AbortController().signal)), directory };
      },
    });
    closeDatabase(database);
  },
});

const cookie = { name: 'a', value: 'b' };

test('the first copy of a profile is empty, and later ones have the saved data', async ({ profiles, directory }) => {
  const directories = await profiles.open();
  const { id } = profiles.store.create(projectId, { name: 'ann' });
  expect(directories.read(id)).toBeUndefined();
  const first = await profiles.copy(directories, id);
  expect(await readdir(first.directory)).toEqual([]);
  expect(first.sessionCookies).toEqual([]);
  await mkdir(join(first.directory, 'Default'));
  await writeFile(join(first.directory, 'Default', 'Cookies'), 'x');
  expect(await first.save('session-1', [cookie])).toEqual({ status: 'saved' });
  expect(existsSync(first.directory)).toBe(false);
  expect(profiles.saved).toEqual([id]);

  const second = await profiles.copy(directories, id);
  expect(await readFile(join(second.directory, 'Default', 'Cookies'), 'utf8')).toBe('x');
  expect(second.sessionCookies).toEqual([cookie]);
  expect(await second.save('session-2', [])).toEqual({ status: 'saved' });
  expect((await profiles.copy(directories, id)).sessionCookies).toEqual([]);
  expect(await readdir(directory)).toEqual([profiles.store.version(id)]);
});

test('reports to both savers once that one save overwrote the other', async ({ profiles }) => {
  const directories = await profiles.open();
  const { id } = profiles.store.create(projectId, { name: 'ann' });
  const [a, b, c] = [
    await profiles.copy(directories, id),
    await profiles.copy(directories, id),
    await profiles.copy(directories, id),
  ];
  const saveOfA = await a.save('session-a', []);
  const saveOfB = await b.save('session-b', []);
  const d = await profiles.copy(directories, id);
  expect(saveOfA).toMatchObject({ status: 'overwritten', other_session_id: 'session-b' });
  expect(saveOfB).toMatchObject({ status: 'overwrote', other_session_id: 'session-a' });
  expect(await d.save('session-d', [])).toEqual({ status: 'saved' });
  expect(saveOfB).toMatchObject({ status: 'overwrote', other_session_id: 'session-a' });
  expect(await c.save('session-c', [])).toMatchObject({ status: 'overwrote', other_session_id: 'session-d' });
  expect(saveOfA).toMatchObject({ status: 'overwritten', other_session_id: 'session-b' });
});

test('removes unfinished saves of an earlier service, and keeps finished ones', async ({ profiles, directory }) => {
  const before = await profiles.open();
  const { id } = profiles.store.create(projectId, { name: 'ann' });
  await (await profiles.copy(before, id)).save('session', [cookie]);
  const version = profiles.store.version(id)!;
  await mkdir(join(directory, 'unfinished', 'Default'), { recursive: true });
  const after = await profiles.open();
  expect(await readdir(directory)).toEqual([version]);
  expect((await profiles.copy(after, id)).sessionCookies).toEqual([cookie]);
});

test('keeps the version of a deleted profile until its last reader is done', async ({ profiles, directory }) => {
  const directories = await profiles.open();
  const { id } = profiles.store.create(projectId, { name: 'ann' });
  await (await profiles.copy(directories, id)).save('session', []);
  const readers = [directories.read(id)!, directories.read(id)!];
  await (await profiles.copy(directories, id)).save('session', []);
  expect(await readdir(directory)).toHaveLength(2);
  await directories.delete(id);
  expect(await readdir(directory)).toEqual([readers[0]!.version]);
  await readers[0]!.release();
  expect(await readdir(directory)).toEqual([readers[0]!.version]);
  await readers[1]!.release();
  expect(await readdir(directory)).toEqual([]);
});

test('an aborted copy of a profile rejects with the reason of the abort', async ({ profiles }, testInfo) => {
  const directories = await profiles.open();
  const { id } = profiles.store.create(projectId, { name: 'ann' });
  await (await profiles.copy(directories, id)).save('session', []);
  const signal = AbortSignal.abort(new Error('the caller hung up'));
  await expect(directories.copy(id, testInfo.outputPath('aborted'), signal)).rejects.toThrow('the caller hung up');
});
