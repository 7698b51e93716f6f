import { chmodSync, chownSync, existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from '@playwright/test';
import { packZip } from '../../../src/service/files/pack-zip.ts';
import { linkTree, sharedTemporaryDirectory } from '../../../src/service/process/trees/reachable.ts';
import { removeTree } from '../../../src/service/process/trees/remove-tree.ts';
import { expectCode, test } from '../../support/service/session-files.ts';

const nobody = 65_534;

test.skip(process.platform === 'win32', 'other systems have no such modes');
// TMPDIR may be a directory that only root can enter.
test.use({ disk: async ({}, use) => use(await sharedTemporaryDirectory()) });

/** Runs the test's body as a user that isn't root, because modes don't stop root. */
async function withoutRoot<T>(directory: string, act: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return await act();
  for (const name of ['.', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })]) {
    const entry = path.join(directory, name);
    if (existsSync(entry)) chownSync(entry, nobody, nobody);
  }
  process.seteuid!(nobody);
  try {
    return await act();
  } finally {
    process.seteuid!(0);
  }
}

test('removes a directory tree regardless of its modes, but not the targets of its links', async ({ place }) => {
  await mkdir(path.join(place.root, 'home/user/fixtures/deep'), { recursive: true });
  await writeFile(path.join(place.root, 'home/user/fixtures/deep/a'), 'a');
  await symlink(path.join(place.outside, 'directory'), path.join(place.root, 'home/user/link'));
  chmodSync(path.join(place.outside, 'directory'), 0o500);
  await withoutRoot(path.dirname(place.root), async () => {
    for (const [directory, mode] of Object.entries({ 'fixtures/deep': 0o000, fixtures: 0o500, '': 0o555 }))
      chmodSync(path.join(place.root, 'home/user', directory), mode);
    await removeTree(place.root);
    await removeTree(place.root);
  });
  expect(existsSync(place.root)).toBe(false);
  expect(statSync(path.join(place.outside, 'directory')).mode & 0o777).toBe(0o500);
});

for (const entry of ['d/deep', 'd/deep/file']) {
  test(`refuses to zip a directory in which ${entry} can't be read, before it sends a byte`, async ({ place }) => {
    await mkdir(path.join(place.root, 'd/deep'), { recursive: true });
    await writeFile(path.join(place.root, 'd/deep/file'), 'text');
    await withoutRoot(path.dirname(place.root), async () => {
      chmodSync(path.join(place.root, entry), 0o000);
      await expectCode(packZip(place.root, '/d'), 'forbidden', 'no permission');
      chmodSync(path.join(place.root, entry), 0o700);
    });
  });
}

test('two calls that copy a directory to the same place at the same time both have it', async ({ place }) => {
  const [from, to] = ['from', 'to'].map((name) => path.join(place.outside, name)) as [string, string];
  await mkdir(path.join(from, 'inside'), { recursive: true });
  await writeFile(path.join(from, 'inside/file'), 'x');
  await Promise.all([1, 2, 3].map(() => linkTree(from, to)));
  expect(readdirSync(path.join(to, 'from', 'inside'))).toEqual(['file']);
  expect(readdirSync(place.outside).filter((name) => name.startsWith('to.'))).toEqual([]);
});
