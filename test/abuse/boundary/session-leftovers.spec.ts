import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from '@playwright/test';
import pLimit from 'p-limit';
import { mayChangeUser } from '../../../src/service/process/children/system-users.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { processesWith } from '../../support/processes/processes.ts';
import { sessionsDirectory } from '../../support/processes/sessions-directory.ts';
import { shellIn, test } from '../../support/service/session-processes.ts';
import { stateOf } from './tree-state.ts';

test.skip(!mayChangeUser, 'only root on Linux can give sessions users of their own');

const sessions = isLong ? 2000 : 12;
const atOnce = 4;

test(`nothing is left of ${sessions} sessions that leave things behind @long`, async ({ client }, testInfo) => {
  test.setTimeout(60_000 + sessions * 3000);
  const outside = testInfo.outputPath('outside');
  makeTree(outside);
  const before = stateOf(outside);
  const mark = `left-${process.pid}`;
  const start = sharedState();
  const one = async () => {
    const { session_id: id } = await client.browsers.create();
    await shellIn(client, id).run(leaveBehind(mark, outside));
    await client.browsers.deleteByID(id);
  };
  await pLimit(atOnce).map(Array.from({ length: sessions }), one);

  await expect.poll(() => processesWith(mark)).toEqual([]);
  const data = sessionsDirectory(testInfo.outputPath('data'));
  expect(readdirSync(data).filter((name) => !/^(program|encoder|spare)-/.test(name))).toEqual([]);
  expect(sharedState()).toEqual(start);
  for (const directory of ['/tmp', '/var/tmp', '/dev/shm', '/run/lock'])
    expect(execFileSync('find', [directory, '-name', `${mark}*`]).toString()).toBe('');
  expect(stateOf(outside)).toEqual(before);
});

/** A script that leaves processes, files, sockets, shared memory, set-user-id files and links wherever it may write. */
function leaveBehind(mark: string, outside: string): string {
  const socket = `require('node:net').createServer().listen(process.argv[1]); setInterval(() => {}, 1000)`;
  return `
    for place in "$HOME" "$TMPDIR" "$PLAYWRIGHT_POOL_ROOT" /tmp /var/tmp /dev/shm /run/lock '${outside}'; do
      [ -w "$place" ] || continue
      mkdir -m 0777 "$place/${mark}"
      cp /usr/bin/id "$place/${mark}/id" && chmod 4777 "$place/${mark}/id"
      ln -s '${outside}' "$place/${mark}/link"
      ln '${outside}/file' "$place/${mark}/hard" 2>/dev/null
      mkfifo "$place/${mark}/fifo"
      mkdir -m 0000 "$place/${mark}/closed"
      env -i setsid '${process.execPath}' -e "${socket}" "$place/${mark}/socket" > /dev/null 2>&1 &
      env -i setsid '${process.execPath}' -e "${socket}" "$(printf '\\\\0')${mark}$$" > /dev/null 2>&1 &
    done
    ipcmk --shmem 65536 --mode 0666 > /dev/null
    ipcmk --queue --mode 0666 > /dev/null
    ipcmk --semaphore 1 --mode 0666 > /dev/null
    env -i setsid sh -c 'while :; do sleep 1; done # ${mark}' > /dev/null 2>&1 &
    true`;
}

/** The objects of System V IPC and the users' processes of the whole machine. */
function sharedState(): string[] {
  return ['shm', 'msg', 'sem'].map((kind) => readFileSync(`/proc/sysvipc/${kind}`, 'utf8'));
}

function makeTree(directory: string): void {
  for (const place of ['', 'below', 'below/deep']) {
    mkdirSync(path.join(directory, place), { recursive: true });
    writeFileSync(path.join(directory, place, 'file'), `text in ${place}`, { mode: 0o640 });
  }
  symlinkSync('/etc/hostname', path.join(directory, 'link'));
}
