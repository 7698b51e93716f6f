import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from '@playwright/test';
import { mayChangeUser } from '../../../src/service/process/children/system-users.ts';
import { startService } from '../../../src/service/service.ts';
import { createClient } from '../../../src/client/index.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { reading, runningCount, shellIn, uniqueSleep, type Shell } from '../../support/service/session-processes.ts';
import { test } from '../shared-service.ts';

test.skip(!mayChangeUser, 'only root on Linux can give sessions users of their own');

test('a session has its own temporary files and shared memory and writes nowhere else', async ({ shell, newShell }) => {
  for (const directory of ['/tmp', '/var/tmp', '/dev/shm']) {
    await shell.run(`echo mine > ${directory}/boundary-${shell.id}; chmod 777 ${directory}/boundary-${shell.id}`);
    expect(await newShell.run(`ls ${directory}`)).not.toContain('boundary-');
    expect(spawnSync('ls', [directory]).stdout.toString()).not.toContain(`boundary-${shell.id}`);
    // Programs of a session share them.
    expect(await shell.run(`cat ${directory}/boundary-${shell.id}`)).toBe('mine');
  }
  const { root } = await placeOf(shell);
  const writable = await shell.run(
    `find / -path /proc -prune -o -path '${path.dirname(root)}' -prune -o -type d -writable -print 2>/dev/null; true`,
  );
  expect(writable.split('\n').filter((place) => !/^\/(dev\/shm|tmp|var\/tmp)(\/|$)/.test(place))).toEqual([]);

  // System V shared memory, too.
  await newShell.run('ipcmk --shmem 1048576 --mode 0666');
  expect(await newShell.run('ipcs --shmems | grep -c 0x')).toBe('1');
  expect(spawnSync('ipcs', ['--shmems']).stdout.toString()).not.toContain('1048576');
  expect(await shell.run('ipcs --shmems | grep -c 0x; true')).toBe('0');
});

test('a program changes no public directory, and gains no rights by a set-user-id file', async ({ shell }) => {
  const directory = `/var/boundary-${process.pid}`;
  await mkdir(directory);
  try {
    await chmod(directory, 0o777);
    await writeFile(`${directory}/there`, 'read');
    expect(await shell.run(`cat ${directory}/there`)).toBe('read');
    await expect(shell.run(`touch ${directory}/new`)).rejects.toThrow(/Read-only file system/);
    spawnSync('cp', ['/usr/bin/id', `${directory}/id`]);
    await chmod(`${directory}/id`, 0o4755);
    expect(spawnSync(`${directory}/id`, ['-u'], { uid: 12_345, gid: 12_345 }).stdout.toString()).toBe('0\n');
    const { uid } = await placeOf(shell);
    expect(await shell.run(`${directory}/id -u; grep NoNewPrivs /proc/self/status`)).toBe(`${uid}\nNoNewPrivs:\t1`);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('variables of a caller reach only the program, no program of root', async ({ client, shell }) => {
  const trace = '/tmp/boundary-trace';
  // A shell that root ran with ENV would write the id of root.
  const script = Buffer.from(`id -u >> ${trace}\n`);
  await client.browsers.fs.writeFile(shell.id, script, { path: '/home/user/trap.sh', mode: '755' });
  const { root, uid } = await placeOf(shell);
  const env = {
    ENV: `${root}/home/user/trap.sh`,
    BASH_ENV: `${root}/home/user/trap.sh`,
    LD_PRELOAD: `${root}/home/user/trap.sh`,
    PATH: `${root}/home/user:/usr/bin:/bin`,
    'odd name': 'kept',
  };
  for (const name of ['setpriv', 'setsid', 'prlimit', 'env', 'sh', 'nsenter']) {
    const fake = Buffer.from(`#!/bin/bash\nid -u >> ${trace}\nexec /usr/bin/${name} "$@"\n`);
    await client.browsers.fs.writeFile(shell.id, fake, { path: `/home/user/${name}`, mode: '755' });
  }
  const command = { command: '/usr/bin/env', args: [], env };
  const { exit_code, stdout_b64 } = await client.browsers.process.exec(shell.id, command);
  expect(exit_code).toBe(0);
  expect(Buffer.from(stdout_b64, 'base64').toString()).toContain('odd name=kept\n');
  const ids = (await shell.run(`cat ${trace} 2>/dev/null; true`)).split('\n').filter(Boolean);
  expect(ids.filter((id) => id !== String(uid))).toEqual([]);
});

test('a timeout ends processes that left the group and cleared their environment', async ({ client, newShell }) => {
  const hidden = uniqueSleep();
  const args = ['-c', `env -i setsid ${hidden} > /dev/null 2>&1 & echo begun; sleep 1000`];
  const { process_id } = await client.browsers.process.spawn(newShell.id, { command: 'sh', args, timeout_sec: 1 });
  await reading(client.browsers.process.stdoutStream(newShell.id, process_id)).until('begun');
  await expect.poll(() => runningCount(hidden)).toBe(0);
  // Without a timeout, a process that a program leaves behind runs until the lease ends.
  const left = uniqueSleep();
  await newShell.run(`env -i setsid ${left} > /dev/null 2>&1 &`);
  await newShell.run('true');
  expect(runningCount(left)).toBe(1);
  await client.browsers.deleteByID(newShell.id);
  await expect.poll(() => runningCount(left)).toBe(0);
});

test('programs, terminals and code have a limit of processes and no core dumps', async ({ client, shell }) => {
  const limits = /^Max processes +2048 +2048 /m;
  const ofProgram = await shell.run('cat /proc/self/limits');
  expect(ofProgram).toMatch(limits);
  expect(ofProgram).toMatch(/^Max core file size +0 +0 /m);
  const code = "return (await import('node:fs')).readFileSync('/proc/self/limits', 'utf8')";
  expect((await client.browsers.playwright.execute(shell.id, { code })).result).toMatch(limits);
  const options = { command: 'cat', args: ['/proc/self/limits'], allocate_tty: true };
  const { process_id } = await client.browsers.process.spawn(shell.id, options);
  const read = reading(client.browsers.process.stdoutStream(shell.id, process_id));
  await read.end();
  expect(read.text()).toMatch(limits);
});

test('programs get no descriptor that the service inherited', async ({}, testInfo) => {
  const secret = testInfo.outputPath('inherited');
  await writeFile(secret, 'secret of the parent');
  const env = { PLAYWRIGHT_POOL_API_KEY: 'key' };
  const options = ['serve', '--port', '0', '--data-dir', testInfo.outputPath('data')];
  const enter = ['sh', '-c', `exec 9< '${secret}'; exec "$@"`, 'sh'];
  await using cli = new CliProcess(options, { env, enter });
  const baseURL = (await cli.firstLine()).replace('listening on ', '');
  await using client = createClient({ baseURL, apiKey: 'key' });
  const shell = shellIn(client, (await client.browsers.create()).session_id);
  expect(readFileSync(`/proc/${cli.child.pid}/fd/9`, 'utf8')).toBe('secret of the parent');
  expect(await shell.run('ls -l /proc/self/fd; cat <&9 2>/dev/null; true')).not.toContain('inherited');
  expect(await shell.run('cat /proc/self/fd/9 2>/dev/null; true')).toBe('');
});

test('a user id comes back after all others', async ({}, testInfo) => {
  await using service = await startService({
    dataDirectory: testInfo.outputPath('data'),
    sessionUids: { first: 41_000, last: 41_001 },
  });
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const seen: number[] = [];
  for (let count = 0; count < 3; count += 1) {
    const { session_id: id } = await client.browsers.create();
    seen.push(statSync(`${sessionDirectory(testInfo.outputPath('data'), id)}/root`).uid);
    await client.browsers.deleteByID(id);
  }
  expect(new Set(seen).size).toBe(2);
  expect(seen[2]).toBe(seen[0]);
});

/** The directory that callers see as `/`, and the user id. */
async function placeOf(shell: Shell): Promise<{ root: string; uid: number }> {
  const [root = '', uid = ''] = (await shell.run('echo "$PLAYWRIGHT_POOL_ROOT"; id -u')).split('\n');
  return { root, uid: Number(uid) };
}
