import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { chromium, expect } from '@playwright/test';
import { mayChangeUser } from '../../../src/service/process/children/system-users.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { extensionZip } from '../../support/views/extensions.ts';
import { custom } from '../../support/service/proxies.ts';
import { setEnvironment } from '../../support/processes/environment.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { sendSignal } from '../../support/processes/processes.ts';
import { reading, type Shell } from '../../support/service/session-processes.ts';
import { test as base } from '../shared-service.ts';
import { stateOf, type TreeEntry } from './tree-state.ts';

/** A directory of root outside of all sessions. The attacks try to make the service change it by links that lead there. */
type Outside = { directory: string; file: string; text: string };

type Fixtures = {
  outside: Outside;
  directoryOf: (shell: Shell) => string;
  /** Starts `trap` or another program in a session. */
  trapIn: (shell: Shell, directory: string, program?: string) => Promise<void>;
};

const nobody = 65_534;
/** The number of files in each directory that the trap makes. Some of their names exist outside too. */
const files = isLong ? 400 : 100;

const test = base.extend<Fixtures>({
  outside: async ({}, use, testInfo) => {
    const directory = testInfo.outputPath('outside');
    const file = path.join(directory, '0');
    const text = 'a text of root';
    mkdirSync(directory, { recursive: true });
    for (let name = 0; name < files; name += 20)
      writeFileSync(path.join(directory, String(name)), text, { mode: 0o600 });
    const before = stateOf(directory);
    await use({ directory, file, text });
    expect(stateOf(directory)).toEqual(before);
  },
  directoryOf: async ({ data }, use) => use(({ id }) => sessionDirectory(data, id)),
  trapIn: async ({ client, outside }, use) => {
    await use(async (shell, directory, program = trap) => {
      const file = `${path.basename(directory)}.cjs`;
      await client.browsers.fs.writeFile(shell.id, Buffer.from(program), { path: `/home/user/${file}` });
      const started = await shell.spawn(`${process.execPath} ${file} ${directory} ${outside.directory}`);
      await reading(client.browsers.process.stdoutStream(shell.id, started)).until('set');
    });
  },
});

test.skip(!mayChangeUser, 'only root on Linux can give sessions users of their own');

/**
 * A program that makes directories, waits until root touches files in one of them, and then replaces this directory by a
 * link. Root has read the names in the directory by then, and goes on to files that exist behind the link too. Ends
 * after a minute.
 */
const trap = `
const fs = require('node:fs');
const [place, outside] = process.argv.slice(-2);
const stateOf = (file) => { try { return fs.statSync(file).ctimeMs; } catch { return 'gone'; } };
fs.mkdirSync(place + '/trap', { recursive: true, mode: 0o700 });
let doors = Array.from({ length: 10 }, (_, i) => {
  const door = place + '/trap/' + i;
  fs.mkdirSync(door);
  const files = Array.from({ length: ${files} }, (_, i) => door + '/' + i);
  for (const file of files) fs.writeFileSync(file, '');
  const watched = files.filter((_, i) => i % 20 === 10);
  return { door, watched, before: watched.map(stateOf) };
});
console.log('set');
for (const end = Date.now() + 60_000; Date.now() < end && doors.length > 0;) {
  const touched = doors.filter(({ watched, before }) => watched.some((file, i) => stateOf(file) !== before[i]));
  doors = doors.filter((door) => !touched.includes(door));
  for (const { door } of touched) {
    try {
      fs.renameSync(door, door + '-away');
      fs.symlinkSync(outside, door);
    } catch {}
  }
}`;

/** A program that replaces each new entry of a directory by a link. */
const replacing = `
const fs = require('node:fs');
const [directory, outside] = process.argv.slice(2);
console.log('set');
const end = Date.now() + 60_000;
const names = () => { try { return fs.readdirSync(directory); } catch { return []; } };
const known = names();
while (Date.now() < end) {
  for (const name of names().filter((name) => !known.includes(name))) {
    known.push(name, name + '-away');
    try {
      fs.renameSync(directory + '/' + name, directory + '/' + name + '-away');
      fs.symlinkSync(outside, directory + '/' + name);
    } catch {}
  }
}`;

test('no program redirects root while a second host and the browser start', async ({
  client,
  newShell: shell,
  directoryOf,
  outside,
  trapIn,
}, testInfo) => {
  const own = directoryOf(shell);
  await test.step('a second host starts after the end of the first one', async () => {
    const url = (await client.browsers.retrieve(shell.id)).playwright_ws_url!;
    const first = await chromium.connect(url);
    const directory = path.join(
      own,
      readdirSync(own).find((name) => name.startsWith('playwright'))!,
    );
    await trapIn(shell, directory);
    const gone = new Promise((resolve) => first.once('disconnected', resolve));
    sendSignal(processesIn(directory), 'SIGKILL');
    await gone;
    await (await chromium.connect(url)).close();
  });

  await test.step('the browser restarts, and root copies the display key to the place of a link', async () => {
    const key = testInfo.outputPath('Xauthority');
    writeFileSync(key, 'key');
    using _ = setEnvironment({ XAUTHORITY: key });
    await shell.run(`ln -sfn ${outside.file} ${own}/home/.Xauthority`);
    await trapIn(shell, path.join(own, 'user-data'));
    const { id } = await client.proxies.create(custom(9));
    await client.browsers.update(shell.id, { proxy_id: id! });
    expect(statSync(path.join(own, '.Xauthority')).mode & 0o777).toBe(0o640);
  });
});

test('no program redirects root as it loads extensions', async ({ client, newShell: shell, directoryOf, trapIn }) => {
  const many = Array.from({ length: files }, (_, i) => ({ name: `more/${i}.js`, content: '' }));
  const load = async (name: string) => {
    const extensions = [{ name, zip_file: await extensionZip(name, {}, many) }];
    await client.browsers.loadExtensions(shell.id, { extensions });
  };
  const place = path.join(directoryOf(shell), 'extensions');
  if (isLong) await load('zero');
  await trapIn(shell, path.join(directoryOf(shell), 'user-data/NativeMessagingHosts'));
  await trapIn(shell, place, replacing);
  await load('one');
  await expect(shell.run(`touch ${place}/new`)).rejects.toThrow(/Permission denied/);
});

test('no other user redirects root as the session ends', async ({ client, newShell: shell, directoryOf, outside }) => {
  await shell.run('mkdir open && chmod 777 open');
  // The session could also pass the open directory through a socket. Afterwards, none of its processes is needed.
  const program = spawn(process.execPath, ['-e', trap, '.', outside.directory], {
    cwd: path.join(directoryOf(shell), 'root/home/user/open'),
    // The tests' own NODE_OPTIONS may name a file that this user can't read.
    env: {},
    uid: nobody,
    gid: nobody,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(createInterface({ input: program.stdout }), 'line');
    await client.browsers.deleteByID(shell.id);
    await expect.poll(() => lstatSync(directoryOf(shell), { throwIfNoEntry: false })).toBeUndefined();
  } finally {
    program.kill('SIGKILL');
  }
});

test('a saved profile has only files that no other user can change', async ({ client, data, directoryOf, outside }) => {
  await client.profiles.create({ name: 'ann' });
  const { session_id: id } = await client.browsers.create({ profile: { name: 'ann', save_changes: true } });
  const run = async (line: string) => await client.browsers.process.exec(id, { command: 'sh', args: ['-c', line] });
  const shell = { id } as Shell;
  const userData = path.join(directoryOf(shell), 'user-data');
  await run(
    `cd ${userData} && mkdir open && chmod 777 open && echo kept > open/kept && chmod 4777 open/kept && ` +
      `ln -s ${outside.file} open/link && ln -s ${outside.directory} 'Default/Local Storage/link' && ` +
      'echo x > open/one && ln open/one ../home/other && mkfifo open/fifo',
  );
  const program = spawn('sh', ['-c', 'echo x > foreign; echo set; read line; echo y > late; cat kept; echo end'], {
    cwd: path.join(userData, 'open'),
    uid: nobody,
    gid: nobody,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const lines = createInterface({ input: program.stdout });
  await once(lines, 'line');
  await client.browsers.deleteByID(id);
  const profiles = path.join(data, 'profiles');
  const [version] = readdirSync(profiles);
  const saved = path.join(profiles, version!);
  const said = once(lines, 'line');
  program.stdin.end('\n');
  expect(await said).toEqual(['end']);
  expect(readdirSync(path.join(saved, 'open'))).toEqual(['kept']);
  expect(readFileSync(path.join(saved, 'open/kept'), 'utf8')).toBe('kept\n');
  expect(stateOf(saved).filter((entry) => !isSafe(entry))).toEqual([]);
  await client.profiles.delete('ann');
});

/** Whether root owns a directory or file that nobody else can read or change. */
function isSafe({ uid, mode }: TreeEntry): boolean {
  return uid === 0 && [0o040000, 0o100000].includes(mode & 0o177077);
}

/** The processes whose working directory this is. */
function processesIn(directory: string): number[] {
  const isIn = (pid: string) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === directory;
    } catch {
      return false;
    }
  };
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) && isIn(name) ? [Number(name)] : []));
}
