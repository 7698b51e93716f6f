import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Isolation } from '../../../src/service/chromium/isolation.ts';
import { defaultUids, mayChangeUser, SystemUsers } from '../../../src/service/process/children/system-users.ts';
import { systemClock } from '../../../src/service/process/clock.ts';
import { Encoder } from '../../../src/service/replays/encoder.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { ownClaims, setGivenBack } from '../../support/processes/user-claims.ts';
import { expect, test } from '../../support/worker.ts';

test.skip(!mayChangeUser, 'only root on Linux can give programs users of their own');

test('the Chromium that encodes recordings keeps no user id when the service ends', async () => {
  const before = ownClaims();
  const directory = await mkdtemp(path.join(tmpdir(), 'encoder-'));
  await chmod(directory, 0o711);
  const isolation = new Isolation(await SystemUsers.open(defaultUids), directory);
  const encoder = new Encoder({ directory, isolation, chromium: {}, environment: process.env, clock: systemClock });
  await encoder.begin({ width: 320, height: 240, framerate: 10 }, undefined);
  expect(ownClaims()).toHaveLength(before.length + 1);
  await encoder.close();
  await isolation.close();
  expect(ownClaims()).toEqual(before);
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

test('a user ends although others remove directories from /tmp at the same moment', async () => {
  const churn = `for (const end = Date.now() + 60_000; Date.now() < end; ) {
    const made = Array.from({ length: 50 }, () => fs.mkdtempSync('/tmp/churn-'));
    for (const each of made) fs.rmdirSync(each); process.stdout.write('.'); }`;
  using others = spawn(process.execPath, ['--eval', churn], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(others.stdout, 'data');
  const users = await SystemUsers.open({ first: 64_000, last: 64_009 });
  const directory = await mkdtemp('/tmp/own-');
  for (let round = 0; round < (isLong ? 5 : 1); round += 1) {
    const user = await users.take(directory);
    await users.end(user, { sharesDirectories: true, directory });
    await users.release(user);
  }
  others.kill();
  await once(others, 'exit');
  await rm(directory, { recursive: true });
  for (const name of await readdir('/tmp')) if (name.startsWith('churn-')) await rmdir(path.join('/tmp', name));
});

test('of ids that were all used, the one that was given back first comes first', async () => {
  const users = await SystemUsers.open({ first: 64_100, last: 64_104 });
  const taken = [];
  for (let count = 0; count < 5; count += 1) taken.push(await users.take('/nowhere'));
  for (const user of taken) await users.release(user);
  const [first, ...others] = taken.toReversed();
  for (const { uid } of others) setGivenBack(uid, Date.now() / 1000 - 10);
  setGivenBack(first!.uid, Date.now() / 1000 - 20);
  const again = await users.take('/nowhere');
  await users.release(again);
  expect(again).toEqual(first);
});

/** Gives a directory, with a file in it, to a user. */
async function madeFor({ uid, gid }: { uid: number; gid: number }, directory: string) {
  await writeFile(path.join(directory, 'file'), 'x');
  await chown(path.join(directory, 'file'), uid, gid);
  await chown(directory, uid, gid);
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}
