import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import { writeAsOwner } from '../../support/processes/open-directory.ts';
import { expectNoProcessWith, processesWith, sendSignal } from '../../support/processes/processes.ts';
import { sessionsIn } from '../../support/processes/sessions-directory.ts';
import { Ann, test as shared, testOnDisk } from './ann.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { callerOf } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';

type Session = { session_id: string };

/** The service's data is on a file system of `dataMegabytes`, and its profiles on one of `profilesMegabytes`. */
const test = testOnDisk.extend<{ dataMegabytes: number; profilesMegabytes: number }>({
  dataMegabytes: [0, { option: true }],
  profilesMegabytes: [0, { option: true }],
  directory: async ({ directory, dataMegabytes, profilesMegabytes }, use) => {
    const disks = [
      [directory, dataMegabytes],
      [join(directory, 'profiles'), profilesMegabytes],
    ] as const;
    const mounted: string[] = [];
    for (const [place, megabytes] of disks.filter(([, megabytes]) => megabytes > 0)) {
      mkdirSync(place, { recursive: true });
      const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'none', place]);
      test.skip(status !== 0, 'file systems cannot be mounted here');
      mounted.push(place);
    }
    await use(directory);
    for (const place of mounted) spawnSync('umount', ['--lazy', place]);
  },
});

/** A session that saves the profile, in which the site has stored `second`. The profile has `first`. */
async function changedSession(ann: Ann): ReturnType<Ann['start']> {
  await ann.createWith('first');
  const session = await ann.start();
  await ann.logIn(session, 'second');
  return session;
}

/** A large file in a session's user data. */
function writeLarge(directory: string, { session_id }: Session): void {
  const file = join(sessionDirectory(directory, session_id), 'user-data', 'large');
  writeAsOwner(file, Buffer.alloc(12 * 1024 * 1024));
}

/** Sends a signal to all processes of a session's Chromium. */
function signalAll({ session_id }: Session, signal: NodeJS.Signals): void {
  sendSignal(processesWith(`/${session_id}/user-data`), signal);
}

test('a kill during a save keeps the previous profile version @long', async ({ site }, testInfo) => {
  const directory = testInfo.outputPath('data');
  const child = new CliProcess(['serve', '--port', '0', '--data-dir', directory]);
  const url = (await child.firstLine()).replace('listening on ', '');
  const call = callerOf({ url, apiKey: readFileSync(join(directory, 'api-key'), 'utf8').trim() });
  const session = await changedSession(new Ann(call, site));
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
  await new Ann(callerOf(service), site).expectLogin('first');
});

shared('keeps the profile, and reports it, if the browser crashes or does not end @long', async ({ call, ann }) => {
  const crashed = await changedSession(ann);
  const frozen = await ann.start();
  await ann.logIn(frozen, 'third');
  signalAll(crashed, 'SIGKILL');
  const failed = { status: 'failed', message: expect.stringContaining('Chromium did not close properly') };
  await expect.poll(() => ann.saveOf(crashed)).toEqual(failed);

  signalAll(frozen, 'SIGSTOP');
  const answer = await call('DELETE', `/browsers/${frozen.session_id}`);
  expect(answer).toMatchObject({ status: 500, body: { code: 'profile_not_saved', message: failed.message } });
  expect(await ann.saveOf(frozen)).toEqual(failed);
  await expectNoProcessWith(frozen.session_id);
  await ann.expectLogin('first');
});

test.describe('on a disk of 80 MiB', () => {
  test.use({ dataMegabytes: 80 });

  test('keeps the profile if a full disk prevents a save or a copy @long', async ({ call, ann, directory }) => {
    await ann.create();
    const first = await ann.start();
    await ann.logIn(first, 'first');
    writeLarge(directory, first);
    await call('DELETE', `/browsers/${first.session_id}`);
    const [version] = readdirSync(join(directory, 'profiles'));
    const session = await ann.start();
    await ann.logIn(session, 'second');

    const filler = join(directory, 'filler');
    const { stdout } = spawnSync('df', ['--output=avail', '--block-size=1', directory], { encoding: 'utf8' });
    writeFileSync(filler, Buffer.alloc(Number(stdout.split('\n')[1]) - 8 * 1024 * 1024));
    const full = { code: 'insufficient_storage', message: expect.stringContaining('is full') };
    const refused = { status: 507, body: full };
    expect(await call('POST', '/browsers', { profile: { name: 'ann' } })).toMatchObject(refused);
    expect(await call('DELETE', `/browsers/${session.session_id}`)).toMatchObject(refused);
    expect(await ann.saveOf(session)).toEqual({ status: 'failed', message: full.message });
    rmSync(filler);
    expect(readdirSync(join(directory, 'profiles'))).toEqual([version]);
    expect(sessionsIn(directory)).toEqual([]);
    await ann.expectLogin('first');
  });
});

test.describe('with profiles on a disk of 8 MiB', () => {
  test.use({ profilesMegabytes: 8 });

  test('keeps profiles on a disk of their own if it is full @long', async ({ call, ann, directory }) => {
    const session = await changedSession(ann);
    writeLarge(directory, session);
    expect(await call('DELETE', `/browsers/${session.session_id}`)).toMatchObject({ status: 507 });
    expect(readdirSync(join(directory, 'profiles'))).toHaveLength(1);
    expect(existsSync(sessionDirectory(directory, session.session_id))).toBe(false);
    await ann.expectLogin('first');
  });
});
