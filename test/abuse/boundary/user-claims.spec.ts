import { chmod, chown, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from '@playwright/test';
import { Isolation } from '../../../src/service/chromium/isolation.ts';
import { defaultUids, mayChangeUser, SystemUsers } from '../../../src/service/process/children/system-users.ts';
import { systemClock } from '../../../src/service/process/clock.ts';
import { Encoder } from '../../../src/service/replays/encoder.ts';
import { ownClaims } from '../../support/processes/user-claims.ts';

test.skip(!mayChangeUser, 'only root on Linux can give programs users of their own');

test('the Chromium that encodes recordings keeps no user id when the service ends', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'encoder-'));
  await chmod(directory, 0o711);
  const isolation = new Isolation(await SystemUsers.open(defaultUids), directory);
  const encoder = new Encoder({ directory, isolation, chromium: {}, environment: process.env, clock: systemClock });
  await encoder.begin({ width: 320, height: 240, framerate: 10 }, undefined);
  expect(ownClaims()).toHaveLength(1);
  await encoder.close();
  expect(ownClaims()).toEqual([]);
  await rm(directory, { recursive: true });
});

test("the end of a user without namespaces removes its files in /tmp, but not those of its session's directory", async () => {
  const users = await SystemUsers.open(defaultUids);
  // `find` takes brackets in a path as a pattern, unless they are escaped.
  const directory = await mkdtemp('/tmp/own-[a]-');
  const user = await users.take(directory);
  await using left = await madeFor(user, await mkdtemp('/tmp/left-'));
  await using own = await madeFor(user, directory);
  await users.end(user, { sharesDirectories: true, directory });
  expect(existsSync(left.directory)).toBe(false);
  expect(await readdir(own.directory)).toEqual(['file']);
  await rm(directory, { recursive: true });
  await users.release(user);
});

/** Gives a directory, with a file in it, to a user. */
async function madeFor({ uid, gid }: { uid: number; gid: number }, directory: string) {
  await writeFile(path.join(directory, 'file'), 'x');
  await chown(path.join(directory, 'file'), uid, gid);
  await chown(directory, uid, gid);
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}
