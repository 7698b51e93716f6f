import { spawn, spawnSync } from 'node:child_process';
import { createServer, get } from 'node:http';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { chromium, expect } from '@playwright/test';
import { findChromium } from '../../../src/service/chromium/find-chromium.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { everywhere, kept, logInUnder, test } from './profile-commands.ts';

test('profiles creates, lists and deletes profiles, and prints text or JSON', async ({ run, service: { call } }) => {
  expect(await run(['list'])).toEqual({ code: 0, stdout: 'There are no profiles.\n', stderr: '' });
  const created = await run(['create', 'ann']);
  const { body: ann } = await call('GET', '/profiles/ann');
  expect(created).toEqual({ code: 0, stdout: `Created the profile ann (${ann.id}).\n`, stderr: '' });
  const bob = JSON.parse((await run(['create', 'bob', '--json'])).stdout);
  expect(bob.name).toBe('bob');

  const lines = (await run(['list'])).stdout.split('\n').map((line) => line.split(/\s{2,}/).slice(0, 3));
  expect(lines).toEqual([
    ['NAME', 'ID', 'CREATED'],
    ['bob', bob.id, bob.created_at],
    ['ann', ann.id, ann.created_at],
    [''],
  ]);
  expect(JSON.parse((await run(['list', '--json'])).stdout)).toEqual((await call('GET', '/profiles')).body);

  expect(await run(['delete', 'bob'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'playwright-pool: the command asks for a confirmation, and there is no terminal: pass --yes\n',
  });
  expect(await run(['delete', 'bob', '--yes'])).toMatchObject({ code: 0, stdout: 'Deleted the profile bob.\n' });
  expect((await call('GET', '/profiles/bob')).status).toBe(404);
});

test('profiles list prints the profiles of all list pages', async ({ run, service: { call } }) => {
  await Promise.all(Array.from({ length: 25 }, (_, index) => call('POST', '/profiles', { name: `profile-${index}` })));
  expect(JSON.parse((await run(['list', '--json'])).stdout)).toHaveLength(25);
});

test('profiles download and unpack restore the user-data directory that a session saved', async ({
  run,
  service: { call },
  site,
}, testInfo) => {
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'first');
  const { code, stdout } = await run(['download', 'ann']);
  expect(code).toBe(0);
  const file = testInfo.outputPath('ann.tar.zst');
  expect(stdout).toMatch(`Wrote ${file} (`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  const second = JSON.parse((await run(['download', 'ann', '-o', 'new/', '--format', 'tar', '--json'])).stdout);
  expect(second).toEqual({ file: testInfo.outputPath('new', 'ann.tar'), bytes: (await stat(second.file)).size });
  await run(['download', 'ann', '-o', 'new/mine.zst']);
  expect((await readdir(testInfo.outputPath('new'))).toSorted()).toEqual(['ann.tar', 'mine.zst']);

  expect(await run(['unpack', 'new/ann.tar', '-o', 'deep/tar'])).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^(Unpacking .+\n)*$/),
  });
  const unpacked = JSON.parse((await run(['unpack', 'ann.tar.zst', '-o', 'ann', '--json'])).stdout);
  expect(unpacked).toEqual({
    directory: testInfo.outputPath('ann'),
    bytes: expect.any(Number),
    entries: expect.any(Number),
  });
  expect(await readdir(testInfo.outputPath('deep/tar'))).toEqual(await readdir(unpacked.directory));
  const context = await chromium.launchPersistentContext(unpacked.directory, {
    executablePath: await findChromium(true, undefined, process.env),
    chromiumSandbox: process.getuid?.() !== 0,
  });
  const page = await context.newPage();
  await page.goto(site);
  const { sessionCookie: _, ...lasting } = everywhere('first');
  expect(await kept(page)).toEqual(lasting);
  await context.close();
});

test('profiles unpack --force replaces a directory only if it is a user-data directory', async ({
  run,
  service,
  site,
}, testInfo) => {
  await service.call('POST', '/profiles', { name: 'ann' });
  await logInUnder(service.call, 'ann', site, 'first');
  await run(['download', 'ann']);
  const unpack = (...args: string[]) => run(['unpack', 'ann.tar.zst', '-o', 'target', ...args]);
  const target = testInfo.outputPath('target');
  expect((await unpack()).code).toBe(0);
  await writeFile(join(target, 'mine'), '');
  expect(await unpack()).toEqual({
    code: 1,
    stdout: '',
    stderr: `playwright-pool: ${target} is not empty: name another directory, or replace its content with --force\n`,
  });
  expect(await readdir(target)).toContain('mine');
  expect((await unpack('--force')).code).toBe(0);
  expect(await readdir(target)).not.toContain('mine');

  await mkdir(testInfo.outputPath('home'));
  await writeFile(testInfo.outputPath('home', 'letter'), '');
  const refused = await run(['unpack', 'ann.tar.zst', '-o', 'home', '--force']);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has other files than a user-data directory'),
  });
  expect(await readdir(testInfo.outputPath('home'))).toEqual(['letter']);
});

test('profiles unpack refuses damaged archives and other files, and leaves no file', async ({
  run,
  service,
  site,
}, testInfo) => {
  await service.call('POST', '/profiles', { name: 'ann' });
  await logInUnder(service.call, 'ann', site, 'first');
  await run(['download', 'ann']);
  const archive = await readFile(testInfo.outputPath('ann.tar.zst'));
  await writeFile(testInfo.outputPath('half.tar.zst'), archive.subarray(0, archive.length / 2));
  await writeFile(testInfo.outputPath('letter.tar.zst'), 'Dear Ann, this is no archive.');
  for (const [file, problem] of [
    ['half.tar.zst', /^(Unpacking .+\n)*playwright-pool: half\.tar\.zst cannot be unpacked: .+\n$/],
    ['letter.tar.zst', /^playwright-pool: letter\.tar\.zst cannot be unpacked: .+ zstd: it is too short\n$/],
    ['missing.tar.zst', /^playwright-pool: missing\.tar\.zst cannot be read \(ENOENT\): check its path\n$/],
    ['.', /^playwright-pool: \. is not a file: name an archive\n$/],
  ] as const) {
    expect(await run(['unpack', file, '-o', 'target'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(problem),
    });
  }
  expect((await readdir(testInfo.outputPath())).toSorted()).toEqual([
    'ann.tar.zst',
    'half.tar.zst',
    'letter.tar.zst',
    'tmp',
  ]);
});

test('profiles download exits with 3 if the profile was never saved', async ({ run, service: { call } }, testInfo) => {
  await call('POST', '/profiles', { name: 'ann' });
  const { code, stderr } = await run(['download', 'ann']);
  expect(code).toBe(3);
  expect(stderr).toMatch(/^playwright-pool: nothing was saved in the profile ann yet: .+\n$/);
  expect(await readdir(testInfo.outputPath())).toEqual(['tmp']);
});

for (const [ending, expected] of [
  ['is interrupted', { code: 130, output: /^(Downloading .+\n)*playwright-pool: interrupted\n$/ }],
  ['breaks off', { code: 1, output: /^(Downloading .+\n)*playwright-pool: .+ \(GET .+\n$/ }],
] as const) {
  test(`profiles download leaves no file if it ${ending}`, async ({ env, run, service, site }, testInfo) => {
    await service.call('POST', '/profiles', { name: 'ann' });
    await logInUnder(service.call, 'ann', site, 'first');
    // Sends the beginning of each answer and holds the rest back.
    const stalling = createServer((request, response) => {
      get(`${service.url}${request.url}`, { headers: request.headers, agent: false }, (answer) => {
        response.writeHead(answer.statusCode!, { 'content-type': answer.headers['content-type'] });
        answer.once('data', (chunk: Buffer) => response.write(chunk.subarray(0, 1000)));
      });
    });
    await new Promise<void>((resolve) => stalling.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(stalling.address() as AddressInfo).port}`;
    const directory = testInfo.outputPath('downloads');
    await using cli = new CliProcess(['profiles', 'download', 'ann', '-o', `${directory}/`], {
      env: { ...env, PLAYWRIGHT_POOL_BASE_URL: url },
    });
    const files = async () => await readdir(directory, { recursive: true }).catch(() => []);
    await expect.poll(files).toContainEqual(expect.stringMatching(/part$/));
    if (expected.code === 130) cli.child.kill('SIGINT');
    else stalling.closeAllConnections();
    expect(await cli.exited).toEqual({ code: expected.code, signal: null });
    expect(cli.output).toMatch(expected.output);
    expect(await files()).toEqual([]);
    stalling.closeAllConnections();
    stalling.close();
    expect((await run(['download', 'ann', '-o', directory])).code).toBe(0);
  });
}

test('a failed command prints one line, and PLAYWRIGHT_POOL_DEBUG adds the stack', async ({ run, service }) => {
  const missing = await run(['download', 'nobody']);
  expect(missing.code).toBe(1);
  expect(missing.stderr).toMatch(/^playwright-pool: 404 not_found: no profile has the id or name nobody \(GET .+\n$/);
  expect((await run(['download', 'nobody'], { PLAYWRIGHT_POOL_DEBUG: '1' })).stderr).toContain('\n    at ');

  const invalid = await run(['create', 'a name']);
  expect(invalid).toMatchObject({ code: 1, stderr: expect.stringContaining('400') });
  const wrongKey = await run(['list', '--api-key', 'wrong-key']);
  expect(wrongKey).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Check that the API key belongs to this service'),
  });
  expect(wrongKey.stderr).not.toContain('wrong-key');
  const gone = await run(['list', '--base-url', 'http://127.0.0.1:9']);
  expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining('Check that the service is running') });
  const keyless = await run(['list'], { PLAYWRIGHT_POOL_API_KEY: '' });
  expect(keyless).toMatchObject({ code: 2, stderr: expect.stringContaining(`${service.url} needs an API key`) });
});

test('wrong arguments exit with 2 and point to the help, which has examples', async ({ run }) => {
  for (const args of [
    ['create'],
    ['download', 'ann', '--format', 'zip'],
    ['unpack', 'a'],
    ['list', '--nonsense'],
    ['nonsense'],
    [],
  ]) {
    expect((await run(args)).code, args.join(' ')).toBe(2);
  }
  for (const other of ['--base-url', '--api-key'])
    expect((await run(['list', '--data-dir', 'a', other, 'http://b'])).stderr).toMatch(/cannot be used with/);
  expect((await run(['create'])).stderr).toContain('(see playwright-pool profiles create --help)');
  for (const command of ['list', 'create', 'download', 'unpack', 'open', 'diff', 'delete']) {
    const { code, stdout } = await run([command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(`  $ playwright-pool profiles ${command}`);
  }
});

test('a command without a configured service starts the embedded one, which ends after it', async ({
  cliProcess,
}, testInfo) => {
  const directory = testInfo.outputPath('data');
  const embedded = { PLAYWRIGHT_POOL_BASE_URL: '', PLAYWRIGHT_POOL_API_KEY: '' };
  const env = { ...embedded, PLAYWRIGHT_POOL_DATA_DIR: directory };
  expect(await cliProcess(['profiles', 'create', 'ann'], { env })).toMatchObject({ code: 0, stderr: '' });
  // The option has priority over the environment.
  expect((await cliProcess(['profiles', 'list', '--data-dir', directory])).stdout).toContain('ann');
  await expectNoProcessWith(directory);
});

test('commands use colours and ask questions only on a terminal', async ({ env, run, service: { call } }) => {
  test.skip(spawnSync('script', ['--version']).status !== 0, 'needs script(1) for a terminal');
  const main = new URL('../../../dist/src/cli/main.js', import.meta.url).pathname;
  const onTerminal = async (command: string, more: Record<string, string>, input = '') => {
    const { FORCE_COLOR: _, NO_COLOR: __, CI: ___, ...own } = process.env;
    const child = spawn('script', ['-qec', `'${process.execPath}' '${main}' profile ${command}`, '/dev/null'], {
      env: { ...own, ...env, TERM: 'xterm', ...more },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (data: Buffer) => {
      output += String(data);
      if (String(data).includes('[y/N]')) child.stdin.write(input);
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    return { code, output };
  };
  await run(['create', 'ann']);
  expect((await onTerminal('list', {})).output).toContain('\u001B[1mNAME');
  expect((await onTerminal('list', { NO_COLOR: '1' })).output).not.toContain('\u001B');
  expect(await onTerminal('delete ann', {}, 'n\n')).toMatchObject({
    code: 1,
    output: expect.stringContaining('nothing was changed'),
  });
  expect((await call('GET', '/profiles/ann')).status).toBe(200);
  expect((await onTerminal('delete ann', {}, 'y\n')).code).toBe(0);
  expect((await call('GET', '/profiles/ann')).status).toBe(404);
});
