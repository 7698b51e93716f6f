import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import { writeAsOwner } from '../../support/processes/open-directory.ts';
import { expectNoProcessWith, processesWith, sendSignal } from '../../support/processes/processes.ts';
import { everywhere, keptIn, logIn, logInUnder, profileSaveOf } from '../../support/service/profiles.ts';
import { startSession, test as base } from '../../support/service/profiles.ts';
import { callerOf, dataDirectory, type Call } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { sessionsIn } from '../../support/processes/sessions-directory.ts';

/** Mounts a file system of this size, in MiB, at a directory. */
const test = base.extend<{ mountDisk: (directory: string, megabytes: number) => void }>({
  mountDisk: async ({}, use) => {
    const mounted: string[] = [];
    await use((directory, megabytes) => {
      mkdirSync(directory, { recursive: true });
      const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'none', directory]).status === 0;
      test.skip(!isMounted, 'file systems cannot be mounted here');
      mounted.push(directory);
    });
    for (const directory of mounted) spawnSync('umount', ['--lazy', directory]);
  },
});

/** A session with the saved profile `ann`. The site has stored `second` there, and the profile has `first`. */
async function changedSession(call: Call, site: string): Promise<{ session_id: string; cdp_ws_url: string }> {
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'first');
  const session = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  await logIn(session, site, 'second');
  return session;
}

async function expectUnchanged(call: Call, site: string): Promise<void> {
  expect(await keptIn(await startSession(call, { profile: { name: 'ann' } }), site)).toEqual(everywhere('first'));
}

/** Sends a signal to all processes of a session's Chromium. */
function signalAll({ session_id }: { session_id: string }, signal: NodeJS.Signals): void {
  sendSignal(processesWith(`/${session_id}/user-data`), signal);
}

test('a kill during a save keeps the previous profile version @long', async ({ site }, testInfo) => {
  const directory = dataDirectory(testInfo);
  const child = new CliProcess(['serve', '--port', '0', '--data-dir', directory]);
  const url = (await child.firstLine()).replace('listening on ', '');
  const call = callerOf({ url, apiKey: readFileSync(join(directory, 'api-key'), 'utf8').trim() });
  const session = await changedSession(call, site);
  const profiles = join(directory, 'profiles');
  const [version] = readdirSync(profiles);
  // Writing so many files to the disk takes a while.
  const many = join(sessionDirectory(directory, session.session_id), 'user-data', 'many');
  mkdirSync(many);
  for (let index = 0; index < 4000; index += 1) writeFileSync(join(many, String(index)), 'x'.repeat(5000));
  const watcher = watch(profiles, () => child.child.kill('SIGKILL'));
  const answer = call('DELETE', `/browsers/${session.session_id}`);
  await expect(answer).rejects.toThrow();
  await child.exited;
  watcher.close();
  expect(readdirSync(profiles)).toHaveLength(2);

  await using service = await startService({ dataDirectory: directory });
  expect(readdirSync(profiles)).toEqual([version]);
  await expectUnchanged(callerOf(service), site);
});

test('keeps the profile, and reports it, if the browser crashes or does not end @long', async ({ call, site }) => {
  const crashed = await changedSession(call, site);
  const frozen = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  await logIn(frozen, site, 'third');
  signalAll(crashed, 'SIGKILL');
  const failed = { status: 'failed', message: expect.stringContaining('Chromium did not close properly') };
  await expect.poll(() => profileSaveOf(call, crashed)).toEqual(failed);

  signalAll(frozen, 'SIGSTOP');
  const answer = await call('DELETE', `/browsers/${frozen.session_id}`);
  expect(answer).toMatchObject({ status: 500, body: { code: 'profile_not_saved', message: failed.message } });
  expect(await profileSaveOf(call, frozen)).toEqual(failed);
  await expectNoProcessWith(frozen.session_id);
  await expectUnchanged(call, site);
});

test('keeps the profile if a full disk prevents a save or a copy @long', async ({ mountDisk, site }, testInfo) => {
  const directory = dataDirectory(testInfo);
  mountDisk(directory, 80);
  await using service = await startService({ dataDirectory: directory });
  const call = callerOf(service);
  await call('POST', '/profiles', { name: 'ann' });
  const first = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  await logIn(first, site, 'first');
  writeAsOwner(
    join(sessionDirectory(directory, first.session_id), 'user-data', 'large'),
    Buffer.alloc(12 * 1024 * 1024),
  );
  await call('DELETE', `/browsers/${first.session_id}`);
  const [version] = readdirSync(join(directory, 'profiles'));
  const session = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  await logIn(session, site, 'second');

  const filler = join(directory, 'filler');
  const { stdout } = spawnSync('df', ['--output=avail', '--block-size=1', directory], { encoding: 'utf8' });
  writeFileSync(filler, Buffer.alloc(Number(stdout.split('\n')[1]) - 8 * 1024 * 1024));
  const refused = { status: 507, body: { code: 'insufficient_storage', message: expect.stringContaining('is full') } };
  expect(await call('POST', '/browsers', { profile: { name: 'ann' } })).toMatchObject(refused);
  expect(await call('DELETE', `/browsers/${session.session_id}`)).toMatchObject(refused);
  expect(await profileSaveOf(call, session)).toEqual({ status: 'failed', message: refused.body.message });
  rmSync(filler);
  expect(readdirSync(join(directory, 'profiles'))).toEqual([version]);
  expect(sessionsIn(directory)).toEqual([]);
  await expectUnchanged(call, site);
});

test('keeps profiles on a disk of their own if it is full @long', async ({ mountDisk, site }, testInfo) => {
  const directory = dataDirectory(testInfo);
  mountDisk(join(directory, 'profiles'), 8);
  await using service = await startService({ dataDirectory: directory });
  const call = callerOf(service);
  const session = await changedSession(call, site);
  writeAsOwner(
    join(sessionDirectory(directory, session.session_id), 'user-data', 'large'),
    Buffer.alloc(12 * 1024 * 1024),
  );
  expect(await call('DELETE', `/browsers/${session.session_id}`)).toMatchObject({ status: 507 });
  expect(readdirSync(join(directory, 'profiles'))).toHaveLength(1);
  expect(existsSync(sessionDirectory(directory, session.session_id))).toBe(false);
  await expectUnchanged(call, site);
});
