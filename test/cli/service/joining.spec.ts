import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { dataDirectoryFor, readServiceRecord } from '../../../src/service/process/start/data-directory.ts';
import { writeServiceRecord } from '../../../src/service/process/start/data-directory.ts';
import { addUser, joinService } from '../../../src/service/process/start/join-service.ts';
import { startService } from '../../../src/service/service.ts';
import { serve } from '../../support/http/serve.ts';
import { expectNoProcessWith, processesWith } from '../../support/processes/processes.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { callerOf } from '../../support/service/service.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { Zombie } from '../../support/processes/zombie.ts';
import { expect, test as base } from '../../support/worker.ts';

type User = ChildProcess & { pid: number };

type Fixtures = {
  directory: string;
  /** Starts an idle process as a user of a service. */
  startUser: () => User;
  /** Joins the service of the directory, by default for a new user. */
  join: (options?: Partial<Parameters<typeof joinService>[0]>) => ReturnType<typeof joinService>;
};

const test = base.extend<Fixtures>({
  startUser: async ({}, use) => {
    const users: User[] = [];
    await use(() => {
      const user = spawn('sleep', ['600'], { stdio: 'ignore' }) as User;
      users.push(user);
      return user;
    });
    for (const user of users) user.kill('SIGKILL');
  },
  join: async ({ directory, startUser }, use) => {
    await use((options = {}) => {
      const userPid = options.userPid ?? startUser().pid;
      return joinService({ dataDirectory: directory, ...options, userPid });
    });
  },
  // After the users, because services end after them.
  directory: async ({}, use) => {
    const directory = outputPath('data');
    await use(directory);
    await expectNoProcessWith(directory);
  },
});

/** Waits longer than an embedded service runs without users. */
async function outlastUnusedService(): Promise<void> {
  await setTimeout(2500);
}

test('the embedded service runs from the first process to the last', async ({ directory, startUser, join }) => {
  const [first, second] = [startUser(), startUser()];
  const service = await join({ userPid: first.pid });
  expect(await join({ userPid: second.pid })).toEqual(service);
  // An ended process whose parent never reaps it doesn't keep the service.
  await using zombie = await Zombie.make();
  expect(await join({ userPid: zombie.pid })).toEqual(service);
  const call = callerOf(service);
  const { body: session } = await call('POST', '/browsers', {});
  expect(processesWith(session.session_id)).not.toEqual([]);
  for (const file of ['service.json', 'service.log'])
    expect((await stat(path.join(directory, file))).mode & 0o777, file).toBe(0o600);

  first.kill('SIGKILL');
  await once(first, 'exit');
  await outlastUnusedService();
  expect((await call('GET', `/browsers/${session.session_id}`)).status).toBe(200);

  second.kill('SIGKILL');
  await expectNoProcessWith(directory);
  for (const left of ['service.json', 'sessions']) expect(existsSync(path.join(directory, left)), left).toBe(false);
});

test('processes that join at once share one service with their pool', async ({ directory, startUser, join }) => {
  const user = startUser();
  const firstPool = { name: 'ci', size: 1, headless: true };
  const services = await Promise.all(Array.from({ length: 6 }, () => join({ userPid: user.pid, firstPool })));
  const call = callerOf(services[0]!);
  const { body: pool } = await call('GET', '/browser_pools/ci');
  expect(pool.browser_pool_config).toMatchObject(firstPool);
  expect(new Set(services.map(({ url }) => url)).size).toBe(1);
  await expect.poll(() => processesWith(`embedded.js ${directory}`)).toEqual([services[0]!.pid]);
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.available_count).toBe(1);
});

test('one process starts the service, but none waits for a killed one', async ({ directory, startUser, join }) => {
  const starting = startUser();
  const file = path.join(directory, 'service.starting');
  await mkdir(directory);
  await writeFile(file, String(starting.pid));
  const joined = join();
  await setTimeout(500);
  expect(processesWith(directory)).toEqual([]);
  starting.kill('SIGKILL');
  await callerOf(await joined)('GET', '/browsers');
  expect(existsSync(file)).toBe(false);
});

test('a service with a wrong pool replaces a killed one with its data', async ({ directory, startUser, join }) => {
  const user = startUser();
  const joinWith = async (firstPool: object) => {
    const service = await join({ userPid: user.pid, firstPool });
    const call = callerOf(service);
    expect((await call('GET', '/browser_pools')).body).toEqual([]);
    expect((await call('POST', '/browser_pools', firstPool)).status).toBeGreaterThanOrEqual(400);
    return { ...service, call };
  };
  const first = await joinWith({ name: 'ci', size: 0 });
  await first.call('POST', '/profiles', { name: 'ann' });
  process.kill(first.pid, 'SIGKILL');
  // Another process has the pid of a starter that was killed a minute ago.
  const file = path.join(directory, 'service.starting');
  await writeFile(file, String(user.pid));
  const before = new Date(Date.now() - 60_000);
  await utimes(file, before, before);
  const second = await joinWith({ name: 'ci', size: 1, profile: { name: 'nobody' } });
  expect(second.pid).not.toBe(first.pid);
  expect(second.apiKey).toBe(first.apiKey);
  expect((await second.call('GET', '/profiles/ann')).status).toBe(200);
});

test('joining sends no key to another program, renews the log and Node options', async ({ directory, join }) => {
  let requests = 0;
  await using stranger = await serve((_request, response) => {
    requests += 1;
    response.writeHead(204).end();
  });
  await mkdir(directory, { recursive: true });
  await writeFile(path.join(directory, 'service.log'), 'x'.repeat(1024 * 1024 + 1));
  await writeServiceRecord(directory, { pid: spawnSync('true').pid, url: stranger.url, apiKey: 'key' });

  const preloaded = outputPath('of the tests.cjs');
  await writeFile(preloaded, '');
  const kept = `--require "${preloaded}" --max-old-space-size=2000`;
  const debug = '--inspect=0 --inspect-publish-uid http --inspect-port 0  --debug-port=0 -r ./here.cjs --import tsx';
  const { env } = process;
  process.env = { ...env, NODE_OPTIONS: `--inspect-brk ${kept} ${debug}`, VSCODE_INSPECTOR_OPTIONS: '{}' };
  const { url, pid } = await join().finally(() => (process.env = env));
  const variables = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
  expect(variables).toContain(`NODE_OPTIONS=${kept}`);
  expect(variables.filter((variable) => variable.startsWith('VSCODE_'))).toEqual([]);

  // It sends no key to the program that has the address of the old service.
  expect(url).not.toBe(stranger.url);
  expect(requests).toBe(0);
  expect((await stat(path.join(directory, 'service.log'))).size).toBeLessThan(1000);
});

test('joining keeps a service that its last process leaves @long', async ({ directory, startUser, join }) => {
  for (let turn = 0; turn < 3; turn += 1) {
    const leaving = startUser();
    const first = await join({ userPid: leaving.pid });
    leaving.kill('SIGKILL');
    // Tries the moments before, during and after the end of the service.
    await setTimeout(600 + turn * 500);
    const coming = startUser();
    const second = await join({ userPid: coming.pid });
    expect((await callerOf(second)('GET', '/profiles')).status).toBe(200);
    if (second.pid !== first.pid) expect(await addUser(first, coming.pid)).toBe(false);
    coming.kill('SIGKILL');
    await expectNoProcessWith(directory);
  }
});

test('processes join a service started by hand, which outlasts them', async ({ directory, startUser, join }) => {
  await using cli = new CliProcess(['serve', '--data-dir', directory], { env: { PLAYWRIGHT_POOL_API_KEY: 'my-key' } });
  const url = (await cli.firstLine()).replace('listening on ', '');
  const user = startUser();
  expect(await join({ userPid: user.pid })).toEqual({ url, apiKey: 'my-key', pid: cli.child.pid });
  user.kill('SIGKILL');
  await once(user, 'exit');
  await outlastUnusedService();
  expect((await callerOf({ url, apiKey: 'my-key' })('GET', '/profiles')).status).toBe(200);
});

test("joining throws the reason if the embedded service can't start", async ({ directory, join }) => {
  await mkdir(directory, { recursive: true });
  await writeFile(
    path.join(directory, 'service.db'),
    'this is not a database, and it is long enough to be read as one',
  );
  await expect(join()).rejects.toThrow(/did not start: see .*service\.log:\n[^]*not a database/);
});

test('joining names the address of a silent service, but not its key @long', async ({ directory, join }) => {
  await using cli = new CliProcess(['serve', '--data-dir', directory], { env: { PLAYWRIGHT_POOL_API_KEY: 'my-key' } });
  await cli.firstLine();
  const pid = cli.child.pid!;
  await writeServiceRecord(directory, { pid, url: 'http://127.0.0.1:9', apiKey: 'my-key' });
  const joining = join();
  await expect(joining).rejects.toThrow(`in use by the service at http://127.0.0.1:9 (process ${pid})`);
  await expect(joining).rejects.toThrow('That service does not answer');
  expect(await readFile(path.join(directory, 'service.log'), 'utf8')).not.toContain('my-key');
});

test("joining reports a data directory that it can't create, and the fix", async ({ directory, join }) => {
  await writeFile(directory, 'a file');
  for (const [dataDirectory, code] of [
    [directory, 'EEXIST'],
    [path.join(directory, 'below'), 'ENOTDIR'],
    ...(process.platform === 'linux' ? [['/proc/playwright-pool/data', 'ENOENT'] as const] : []),
  ] as const) {
    const message = `the data directory ${dataDirectory} cannot be written (${code}): set PLAYWRIGHT_POOL_DATA_DIR to a directory that can`;
    await expect(join({ dataDirectory })).rejects.toThrow(message);
    await expect(startService({ dataDirectory })).rejects.toThrow(message);
  }
});

test('joining reports a data directory on a full disk, and leaves no file there', async ({ directory, join }) => {
  await mkdir(directory, { recursive: true });
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'none', directory]).status === 0;
  test.skip(!isMounted, 'file systems cannot be mounted here');
  try {
    await expect(writeFile(path.join(directory, 'filler'), Buffer.alloc(2_000_000))).rejects.toThrow('ENOSPC');
    const message = `the data directory ${directory} cannot be written (ENOSPC): set PLAYWRIGHT_POOL_DATA_DIR`;
    await expect(join()).rejects.toThrow(message);
    expect(await readdir(directory)).toEqual(['filler']);
  } finally {
    spawnSync('umount', ['--lazy', directory]);
  }
});

test('an aborted join leaves no embedded service behind', async ({ directory, join }) => {
  await using _holder = await startService({ dataDirectory: directory });
  const controller = new AbortController();
  const joining = join({ signal: controller.signal });
  await expect.poll(() => processesWith(`embedded.js ${directory}`)).toHaveLength(1);
  controller.abort(new Error('given up'));
  await expect(joining).rejects.toThrow(/given up/);
  await expect.poll(() => processesWith(`embedded.js ${directory}`)).toEqual([]);
});

test("each project has a data directory in the user's cache, unless the environment names one", async () => {
  const project = outputPath('My Project');
  await mkdir(path.join(project, 'tests', 'deep'), { recursive: true });
  const env = { XDG_CACHE_HOME: '/cache', LOCALAPPDATA: '/cache' };
  const unnamed = dataDirectoryFor(project, env);
  await writeFile(path.join(project, 'package.json'), '{"name":"@scope/shop"}');
  const named = dataDirectoryFor(project, env);
  expect(path.basename(named)).toMatch(/^scope-shop-[0-9a-f]{8}$/);
  expect(named).not.toBe(unnamed);
  expect(dataDirectoryFor(path.join(project, 'tests', 'deep'), env)).toBe(named);
  if (process.platform === 'linux') expect(named).toMatch(/^\/cache\/playwright-pool\//);
  expect(dataDirectoryFor(project, { ...env, PLAYWRIGHT_POOL_DATA_DIR: '/mine' })).toBe('/mine');
  await writeFile(path.join(project, 'package.json'), 'not JSON');
  expect(path.basename(dataDirectoryFor(project, env))).toMatch(/^My-Project-[0-9a-f]{8}$/);
});

test('joining treats an unreadable service record as missing', async ({ directory }) => {
  await mkdir(directory, { recursive: true });
  for (const text of ['', '{', '{"pid":1}', 'null']) {
    await writeFile(path.join(directory, 'service.json'), text);
    expect(readServiceRecord(directory)).toBeUndefined();
  }
  const record = { pid: 1, url: 'http://127.0.0.1:1', apiKey: 'k' };
  await writeServiceRecord(directory, record);
  expect(JSON.parse(await readFile(path.join(directory, 'service.json'), 'utf8'))).toEqual(record);
});
