import { execFile } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { unlinkSync, writeFileSync, writeSync } from 'node:fs';
import { appendFile, chmod, mkdir, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from '@playwright/test';
import { isLong } from '../../support/processes/long-form.ts';
import { expectCode, write } from '../../support/service/session-files.ts';
import { applied, lines, test, told, treeOf } from '../../support/service/watches.ts';

const run = promisify(execFile);

// On a busy disk, tens of thousands of changes would exceed the timeout.
if (existsSync('/dev/shm')) test.use({ disk: '/dev/shm' });

test('reports created, written, renamed and deleted files and directories', async ({ watch, read, place }) => {
  const { events } = read(await watch('/home/user'));
  const at = (name: string) => path.join(place.root, 'home/user', name);
  await writeFile(at('empty'), '');
  await expect.poll(() => told(events)).toEqual(['CREATE /home/user/empty']);
  expect(events[0]).toEqual({ type: 'CREATE', path: '/home/user/empty', name: 'empty', is_dir: false });
  const steps: [() => Promise<unknown>, string[]][] = [
    [() => writeFile(at('full'), 'x'), ['CREATE /home/user/full', 'WRITE /home/user/full']],
    [() => appendFile(at('full'), 'y'), ['WRITE /home/user/full']],
    [() => mkdir(at('directory')), ['CREATE /home/user/directory/']],
    [() => rename(at('full'), at('renamed')), ['RENAME /home/user/full', 'CREATE /home/user/renamed']],
    [() => rename(at('renamed'), at('empty')), ['RENAME /home/user/renamed', 'CREATE /home/user/empty']],
    [() => rename(at('directory'), at('other')), ['RENAME /home/user/directory/', 'CREATE /home/user/other/']],
    [() => unlink(at('empty')), ['DELETE /home/user/empty']],
    [() => rm(at('other'), { recursive: true }), ['DELETE /home/user/other/']],
  ];
  for (const [change, expected] of steps) {
    events.length = 0;
    await change();
    // A look in the middle of a write may report the write twice.
    await expect.poll(() => told(events).filter((event, index, all) => event !== all[index - 1])).toEqual(expected);
  }
});

test('reports changes in subdirectories only on request, and no attributes', async ({ watch, read, place, files }) => {
  await files.createDirectory('/home/user/below', '755');
  await write(files, '/home/user/a', 'x');
  await utimes(path.join(place.root, 'home/user/a'), 1000, 1000);
  const { events } = read(await watch('/home/user'));
  await chmod(path.join(place.root, 'home/user/a'), 0o600);
  await chmod(path.join(place.root, 'home/user/below'), 0o700);
  await chmod(path.join(place.root, 'home/user'), 0o700);
  await write(files, '/home/user/below/b', 'x');
  await write(files, '/home/user/last', '');
  await expect.poll(() => told(events)).toEqual(['CREATE /home/user/last']);
});

test('reports everything in new directories, however fast it appears', async ({ watch, read, place }) => {
  const { events } = read(await watch('/', { recursive: true }));
  mkdirSync(path.join(place.root, 'home/a/b/c'), { recursive: true });
  writeFileSync(path.join(place.root, 'home/a/b/c/d'), 'x');
  const parts = ['a/', 'a/b/', 'a/b/c/', 'a/b/c/d'];
  const created = parts.map((part) => `CREATE /home/${part}`);
  await expect.poll(() => told(events)).toEqual([...created, 'WRITE /home/a/b/c/d']);
  events.length = 0;
  await rename(path.join(place.root, 'home/a'), path.join(place.root, 'home/user/a'));
  const renamed = parts.toReversed().map((part) => `RENAME /home/${part}`);
  await expect.poll(() => told(events)).toEqual([...renamed, ...parts.map((part) => `CREATE /home/user/${part}`)]);
  events.length = 0;
  await appendFile(path.join(place.root, 'home/user/a/b/c/d'), 'y');
  await expect.poll(() => told(events)).toEqual(['WRITE /home/user/a/b/c/d']);
  events.length = 0;
  await rm(path.join(place.root, 'home/user/a'), { recursive: true });
  await expect.poll(() => told(events)).toEqual(parts.toReversed().map((part) => `DELETE /home/user/${part}`));
});

test('a watch on a file reports that file only, also if replaced', async ({ watch, read, files, place }) => {
  await write(files, '/home/a', 'x');
  const { events } = read(await watch('/home/a'));
  await write(files, '/home/b', 'x');
  await write(files, '/home/a', 'replaced');
  await expect.poll(() => told(events)).toEqual(['WRITE /home/a']);
  await rename(path.join(place.root, 'home/a'), path.join(place.root, 'home/c'));
  await expect.poll(() => told(events).slice(1)).toEqual(['DELETE /home/a']);
  await write(files, '/home/a', '');
  await expect.poll(() => told(events).slice(2)).toEqual(['CREATE /home/a']);
});

test('watches no missing path, and none outside the root', async ({ watch, read, place, files }) => {
  await symlink(path.join(place.outside, 'directory'), path.join(place.root, 'out'));
  await symlink('home', path.join(place.root, 'in'));
  await symlink('user', path.join(place.root, 'home/link'));
  await expectCode(watch('/out'), 'forbidden');
  await expectCode(watch('/out/directory'), 'forbidden');
  const { events } = read(await watch('/in', { recursive: true }));
  await write(files, '/home/user/a', '');
  symlinkSync(place.outside, path.join(place.root, 'home/new'));
  writeFileSync(path.join(place.outside, 'directory/b'), 'x');
  await expect.poll(() => told(events).toSorted()).toEqual(['CREATE /in/new', 'CREATE /in/user/a']);

  await write(files, '/file', 'x');
  await expectCode(watch('/nowhere'), 'not_found', 'path not found: "/nowhere"');
  await expectCode(watch('/nowhere/below', { recursive: true }), 'not_found', 'path not found');
  await expectCode(watch('/file/below'), 'not_found', 'path not found');
  await expectCode(watch('/../etc'), 'forbidden');
});

test('reports a complete upload, and the deletion of the watched directory', async ({ watch, read, place, files }) => {
  const { events } = read(await watch('/', { recursive: true }));
  await write(files, '/home/user/a', 'x');
  await write(files, '/home/user/a', 'y');
  await files.createDirectory('/end', '755');
  await expect.poll(() => told(events)).toContain('CREATE /end/');
  expect(told(events).filter((text) => text.startsWith('WRITE'))).not.toHaveLength(0);
  expect(new Set(events.map((event) => event.path))).toEqual(new Set(['/home/user/a', '/end']));

  const ending = read(await watch('/home/user', { recursive: true }));
  await rm(path.join(place.root, 'home/user'), { recursive: true });
  await expect.poll(() => told(ending.events)).toEqual(['DELETE /home/user/a', 'DELETE /home/user/']);
});

test('follows a directory that is deleted and created again many times', async ({ watch, read, place }) => {
  const reader = read(await watch('/home', { recursive: true }));
  const directory = path.join(place.root, 'home/d');
  for (let round = 0; round < 200; round += 1) {
    mkdirSync(directory);
    writeFileSync(path.join(directory, 'a'), '');
    if (round % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    unlinkSync(path.join(directory, 'a'));
    rmdirSync(directory);
  }
  mkdirSync(directory);
  await expect.poll(() => told(reader.events).at(-1)).toBe('CREATE /home/d/');
  reader.events.length = 0;
  await writeFile(path.join(directory, 'last'), '');
  await expect.poll(() => told(reader.events)).toEqual(['CREATE /home/d/last']);
});

test("reports entries that exist for a moment, and no event that didn't happen", async ({ watch, read, place }) => {
  const { events } = read(await watch('/home/user'));
  const at = (name: string) => path.join(place.root, 'home/user', name);
  writeFileSync(at('passing'), 'x');
  unlinkSync(at('passing'));
  const passing = ['CREATE', 'WRITE', 'DELETE'].map((type) => `${type} /home/user/passing`);
  await expect.poll(() => told(events)).toEqual(passing);
  events.length = 0;

  const numbers = random();
  const made = new Map<string, number>();
  for (let change = 0; change < (isLong ? 5000 : 1500); change += 1) {
    const name = `f${Math.floor(numbers.next().value * 5)}`;
    if (existsSync(at(name))) {
      if (numbers.next().value < 0.3) writeFileSync(at(name), String(change));
      unlinkSync(at(name));
    } else {
      writeFileSync(at(name), '');
      made.set(`/home/user/${name}`, (made.get(`/home/user/${name}`) ?? 0) + 1);
    }
    if (numbers.next().value < 0.3) await new Promise((resolve) => setImmediate(resolve));
    if (numbers.next().value < 0.05) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const end = treeOf(path.join(place.root, 'home/user'), '/home/user');
  await expect.poll(() => lines(applied(new Map(), events, end))).toEqual(lines(end));
  for (const [name, count] of made) {
    const told = events.filter((event) => event.type === 'CREATE' && event.path === name).length;
    expect(told).toBeLessThanOrEqual(count);
    expect(told).toBeGreaterThan(0);
  }
});

test('keeps events until they are read, and merges many changes', async ({ watch, read, place, files }) => {
  const count = isLong ? 3000 : 1100;
  await write(files, '/home/user/a', 'x');
  const watching = await watch('/home', { recursive: true });
  const at = (index: number) => path.join(place.root, `home/user/${index}`);
  for (let index = 0; index < count; index += 1) await writeFile(at(index), '');
  for (let index = 0; index < count; index += 1) await unlink(at(index));
  for (let index = 0; index < count; index += 1) await appendFile(path.join(place.root, 'home/user/a'), 'y');
  await files.createDirectory('/home/end', '755');
  const { events } = read(watching);
  await expect.poll(() => told(events)).toContain('CREATE /home/end/');
  // More than 1000 events were unread before the writes.
  expect(told(events).filter((text) => text === 'WRITE /home/user/a').length).toBeLessThan(10);
  expect(applied(new Map([['/home/user/a', 'x']]), events, new Map()).size).toBe(2);
});

test('shares events among readers, also if one leaves, and ends all with the watch', async ({ watch, read, place }) => {
  const watching = await watch('/home/user');
  const [first, second, gone] = [read(watching), read(watching), read(watching)];
  gone.leave();
  await gone.ended;
  for (let index = 0; index < 100; index += 1) writeFileSync(path.join(place.root, `home/user/${index}`), '');
  await expect.poll(() => first.events.length + second.events.length).toBe(100);
  expect(new Set([...first.events, ...second.events].map((event) => event.path)).size).toBe(100);
  expect(gone.events).toEqual([]);
  watching.stop();
  await Promise.all([first.ended, second.ended]);
  writeFileSync(path.join(place.root, 'home/user/late'), '');
  const late = read(watching);
  await late.ended;
  expect(late.events).toEqual([]);
});

/** Numbers from 0 to below 1, always the same. */
function* random(): Generator<number, never> {
  for (let state = 42; ;) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield state / 2 ** 31;
  }
}

for (const speed of ['with pauses', 'at once, after more than the system can tell']) {
  test(`applying all events to the first tree gives the last tree (${speed})`, async ({ watch, read, place }) => {
    const count = isLong ? 20_000 : 2000;
    const home = path.join(place.root, 'home');
    const numbers = random();
    const below = (limit: number) => Math.floor(numbers.next().value * limit);
    for (let index = 0; index < 200; index += 1) {
      mkdirSync(path.join(home, `d${index % 20}/e${index % 7}`), { recursive: true });
      writeFileSync(path.join(home, `d${index % 20}/e${index % 7}/f${index}`), `old ${index}`);
    }
    const start = treeOf(home, '/home');
    const watching = await watch('/home', { recursive: true });
    const { events } = read(watching);

    // Linux keeps 16384 changes. It joins equal ones in a row.
    const written = ['d0/e0/f0', 'd1/e1/f1'].map((name) => openSync(path.join(home, name), 'a'));
    if (speed !== 'with pauses') for (let index = 0; index < 20_000; index += 1) writeSync(written[index % 2]!, 'x');
    for (const descriptor of written) closeSync(descriptor);
    for (let change = 0; change < count;) {
      if (speed === 'with pauses' && change % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
      const [parent, otherParent] = [path.join(home, `d${below(25)}`), path.join(home, `d${below(25)}`)];
      const [directory, other] = [path.join(parent, `e${below(7)}`), path.join(otherParent, `e${below(7)}`)];
      const file = path.join(directory, `f${below(30)}`);
      const changes = [
        () => writeFileSync(file, `new ${change}`),
        () => writeFileSync(file, `new ${change}`, { flag: 'a' }),
        () => unlinkSync(file),
        () => renameSync(file, path.join(other, `f${below(30)}`)),
        () => mkdirSync(directory),
        () => mkdirSync(parent),
      ];
      const rare = [
        () => renameSync(directory, other),
        () => renameSync(parent, otherParent),
        () => rmSync(directory, { recursive: true }),
      ];
      const chosen = below(100) === 0 ? rare : changes;
      try {
        chosen[below(chosen.length)]!();
        change += 1;
      } catch {
        // An action that fails changes nothing.
      }
    }
    writeFileSync(path.join(home, 'end'), '');
    await expect.poll(() => told(events).includes('CREATE /home/end'), { timeout: 20_000 }).toBe(true);
    const end = treeOf(home, '/home');
    await expect.poll(() => lines(applied(start, events, end))).toEqual(lines(end));
  });
}

/** Runs a script in its own process, with `watch` as a recursive watch of a root. Resolves with its output. */
async function inProcess(root: string, script: string, ...before: string[]): Promise<string> {
  const [watches, lease] = ['files/watches.js', 'sessions/lease.js'].map((file) =>
    fileURLToPath(new URL(`../../../build/src/service/${file}`, import.meta.url)),
  );
  const whole = `
    const { Watches } = await import(${JSON.stringify(watches)});
    const { Lease } = await import(${JSON.stringify(lease)});
    const watches = new Watches();
    const session = { id: 'session', root: ${JSON.stringify(root)}, lease: new Lease('session') };
    const watch = watches.get(session, await watches.start(session, { path: '/', recursive: true }));
    // A watch alone keeps no process alive.
    const alive = setInterval(() => {}, 60_000);
    ${script}
    clearInterval(alive);
    watch.stop();`;
  const [command, ...rest] = [...before, process.execPath, '--input-type=module', '--eval', whole];
  return (await run(command, rest)).stdout;
}

test('a watch uses no processor time while nothing changes', async ({ place }) => {
  for (let index = 0; index < 300; index += 1) mkdirSync(path.join(place.root, `home/d${index}`));
  const spent = await inProcess(
    place.root,
    `void watch.events(new AbortController().signal)[Symbol.asyncIterator]().next();
    const { setTimeout: sleep } = await import('node:timers/promises');
    await sleep(200);
    const before = process.cpuUsage();
    await sleep(1000);
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(String((user + system) / 1000));`,
  );
  expect(spent).toMatch(/^[\d.]+$/);
  // In milliseconds.
  expect(Number(spent)).toBeLessThan(20);
});

test('refuses more directories than the system can watch', async ({ place }) => {
  for (let index = 0; index < 300; index += 1) mkdirSync(path.join(place.root, `home/d${index}`));
  const limited = ['unshare', '-Ur', 'sh', '-c', 'echo 100 > /proc/sys/user/max_inotify_watches && exec "$@"', 'sh'];
  const failure = await run(limited[0]!, [...limited.slice(1), 'true']).catch((error: unknown) => error);
  test.skip(failure instanceof Error, 'this machine does not let a process have limits of its own');
  await expect(inProcess(place.root, '', ...limited)).rejects.toThrow(/capacity_exhausted/);
  for (let index = 20; index < 300; index += 1) rmdirSync(path.join(place.root, `home/d${index}`));
  const failing = `
    const { mkdirSync } = await import('node:fs');
    for (let index = 20; index < 300; index += 1) mkdirSync(${JSON.stringify(place.root)} + '/home/d' + index);
    const failure = async () => { for await (const _ of watch.events(new AbortController().signal)); };
    await failure().catch(({ code }) => process.stdout.write(code));
    try { watch.events(new AbortController().signal) } catch ({ code }) { process.stdout.write(' ' + code) }`;
  expect(await inProcess(place.root, failing, ...limited)).toBe('capacity_exhausted capacity_exhausted');
});
