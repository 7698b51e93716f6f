import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { chromium } from '@playwright/test';
import { pack } from '../../../src/archive/index.ts';
import { findChromium } from '../../../src/service/chromium/find-chromium.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { CliProcess, main } from '../../support/service/service-process.ts';
import { everywhere, kept, logInUnder } from '../../support/service/profiles.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, expectFailure, printed, test } from '../commands.ts';

test('profiles creates, lists and deletes profiles, and prints text or JSON', async ({ cli, service: { call } }) => {
  expect(await cli('profiles list')).toEqual({ code: 0, stdout: 'There are no profiles.\n', stderr: '' });
  const created = await cli('profiles create ann');
  const { body: ann } = await call('GET', '/profiles/ann');
  expect(created).toEqual({ code: 0, stdout: `Created the profile ann (${ann.id}).\n`, stderr: '' });
  const bob = JSON.parse((await cli('profiles create bob --json')).stdout);
  expect(bob.name).toBe('bob');

  const lines = (await cli('profiles list')).stdout.split('\n').map((line) => line.split(/\s{2,}/).slice(0, 3));
  expect(lines).toEqual([
    ['NAME', 'ID', 'CREATED'],
    ['bob', bob.id, bob.created_at],
    ['ann', ann.id, ann.created_at],
    [''],
  ]);
  expect(JSON.parse((await cli('profiles list --json')).stdout)).toEqual((await call('GET', '/profiles')).body);

  const question = 'playwright-pool: the command asks for a confirmation, and there is no terminal: pass --yes\n';
  expect(await cli('profiles delete bob')).toEqual({ code: 2, stdout: '', stderr: question });
  expect(printed(await cli('profiles delete bob --yes'))).toBe('Deleted the profile bob.\n');
  expect((await call('GET', '/profiles/bob')).status).toBe(404);
  // More than one list page.
  await Promise.all(Array.from({ length: 24 }, (_, index) => call('POST', '/profiles', { name: `profile-${index}` })));
  expect(JSON.parse(printed(await cli('profiles list --json')))).toHaveLength(25);
});

test('profiles download and unpack restore a saved user-data directory', async ({ cli, service: { call }, site }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'first');
  const file = outputPath('ann.tar.zst');
  expect(printed(await cli('profiles download ann'))).toMatch(`Wrote ${file} (`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  const second = JSON.parse((await cli('profiles download ann -o new/ --format tar --json')).stdout);
  expect(second).toEqual({ file: outputPath('new', 'ann.tar'), bytes: (await stat(second.file)).size });
  await cli('profiles download ann -o new/mine.zst');
  expect((await readdir(outputPath('new'))).toSorted()).toEqual(['ann.tar', 'mine.zst']);

  const stderr = expect.stringMatching(/^(Unpacking .+\n)*$/);
  expect(await cli('profiles unpack new/ann.tar -o deep/tar')).toMatchObject({ code: 0, stderr });
  const unpacked = JSON.parse((await cli('profiles unpack ann.tar.zst -o ann --json')).stdout);
  const number = expect.any(Number);
  expect(unpacked).toEqual({ directory: outputPath('ann'), bytes: number, entries: number });
  expect(await readdir(outputPath('deep/tar'))).toEqual(await readdir(unpacked.directory));
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

test('profiles unpack --force replaces a directory only if it is a user-data directory', async ({ cli }) => {
  await writeFile(outputPath('ann.tar.zst'), await archiveIn(outputPath('original')));
  const unpack = (...args: string[]) => cli(`profiles unpack ann.tar.zst -o target ${args.join(' ')}`.trim());
  const target = outputPath('target');
  expect((await unpack()).code).toBe(0);
  await writeFile(join(target, 'mine'), '');
  const stderr = `playwright-pool: ${target} is not empty: name another directory, or replace its content with --force\n`;
  expect(await unpack()).toEqual({ code: 1, stdout: '', stderr });
  expect(await readdir(target)).toContain('mine');
  expect((await unpack('--force')).code).toBe(0);
  expect(await readdir(target)).not.toContain('mine');

  await mkdir(outputPath('home'));
  await writeFile(outputPath('home', 'letter'), '');
  const refused = await cli('profiles unpack ann.tar.zst -o home --force');
  expectFailure(refused, 1, 'has other files than a user-data directory');
  expect(await readdir(outputPath('home'))).toEqual(['letter']);
});

test('profiles unpack refuses damaged archives and other files, and leaves no file', async ({ cli }) => {
  const archive = await archiveIn(outputPath('original'));
  await writeFile(outputPath('half.tar.zst'), archive.subarray(0, archive.length / 2));
  await writeFile(outputPath('letter.tar.zst'), 'Dear Ann, this is no archive.');
  for (const [file, problem] of [
    ['half.tar.zst', /^(Unpacking .+\n)*playwright-pool: half\.tar\.zst cannot be unpacked: .+\n$/],
    ['letter.tar.zst', /^playwright-pool: letter\.tar\.zst cannot be unpacked: .+ zstd: it is too short\n$/],
    ['missing.tar.zst', /^playwright-pool: missing\.tar\.zst cannot be read \(ENOENT\): check its path\n$/],
    ['.', /^playwright-pool: \. is not a file: name an archive\n$/],
  ] as const)
    expectFailure(await cli(`profiles unpack ${file} -o target`), 1, problem);
  const left = ['half.tar.zst', 'letter.tar.zst', 'original', 'tmp'];
  expect((await readdir(outputPath())).toSorted()).toEqual(left);
});

test('profiles download exits with 3 if the profile was never saved', async ({ cli, service }) => {
  await service.call('POST', '/profiles', { name: 'ann' });
  const never = /^playwright-pool: nothing was saved in the profile ann yet: .+\n$/;
  expectFailure(await cli('profiles download ann'), 3, never);
  expect(await readdir(outputPath())).toEqual(['tmp']);
});

for (const [ending, code, message] of [
  ['is interrupted', 130, /^(Downloading .+\n)*playwright-pool: interrupted\n$/],
  ['breaks off @long', 1, /^(Downloading .+\n)*playwright-pool: .+ \(GET .+\n$/],
] as const) {
  test(`profiles download leaves no file if it ${ending}`, async ({ answering, cli }) => {
    // Sends the beginning of the first archive and holds the rest back.
    let first: ServerResponse | undefined;
    const env = await answering((_, response) => {
      response.write('.'.repeat(1000));
      if (first) response.end();
      else first = response;
    });
    const directory = outputPath('downloads');
    await using download = new CliProcess(['profiles', 'download', 'ann', '-o', `${directory}/`], { env });
    const files = async () => await readdir(directory, { recursive: true }).catch(() => []);
    await expect.poll(files).toContainEqual(expect.stringMatching(/part$/));
    if (code === 130) download.child.kill('SIGINT');
    else first!.destroy();
    expect(await download.exited).toEqual({ code, signal: null });
    expect(download.output).toMatch(message);
    expect(await files()).toEqual([]);
    expect((await cli(`profiles download ann -o ${directory}`, { env })).code).toBe(0);
  });
}

test('a failed command prints one line, and PLAYWRIGHT_POOL_DEBUG adds the stack', async ({ cli, service }) => {
  const missing = await cli('profiles download nobody');
  expectFailure(missing, 1, /^playwright-pool: 404 not_found: no profile has the id or name nobody \(GET .+\n$/);
  const debugged = await cli('profiles download nobody', { env: { PLAYWRIGHT_POOL_DEBUG: '1' } });
  expect(debugged.stderr).toContain('\n    at ');

  expectFailure(await cli(['profiles', 'create', 'a name']), 1, '400');
  const wrongKey = await cli('profiles list --api-key wrong-key');
  expectFailure(wrongKey, 1, 'Check that the API key belongs to this service');
  expect(wrongKey.stderr).not.toContain('wrong-key');
  expectFailure(await cli('profiles list --base-url http://127.0.0.1:9'), 1, 'Check that the service is running');
  const keyless = await cli('profiles list', { env: { PLAYWRIGHT_POOL_API_KEY: '' } });
  expectFailure(keyless, 2, `${service.url} needs an API key`);
});

test('wrong arguments exit with 2 and point to the help, which has examples', async ({ cli }) => {
  for (const args of ['create', 'download ann --format zip', 'unpack a', 'list --nonsense', 'nonsense'])
    expect((await cli(`profiles ${args}`)).code, args).toBe(2);
  expect((await cli('profile')).code).toBe(2);
  for (const other of ['--base-url', '--api-key'])
    expect((await cli(`profiles list --data-dir a ${other} http://b`)).stderr).toMatch(/cannot be used with/);
  expect((await cli('profiles create')).stderr).toContain('(see playwright-pool profiles create --help)');
  for (const command of ['list', 'create', 'download', 'unpack', 'open', 'diff', 'delete'])
    expect(printed(await cli(`profiles ${command} --help`))).toContain(`  $ playwright-pool profiles ${command}`);
});

test('a command without a configured service starts the embedded one, and ends it', async ({ cliProcess }) => {
  const directory = outputPath('data');
  const embedded = { PLAYWRIGHT_POOL_BASE_URL: '', PLAYWRIGHT_POOL_API_KEY: '' };
  const env = { ...embedded, PLAYWRIGHT_POOL_DATA_DIR: directory };
  expect(await cliProcess('profiles create ann', { env })).toMatchObject({ code: 0, stderr: '' });
  // The option has priority over the environment.
  expect((await cliProcess(`profiles list --data-dir ${directory}`)).stdout).toContain('ann');
  await expectNoProcessWith(directory);
});

test('commands use colours and ask questions only on a terminal', async ({ env, cli, service: { call } }) => {
  test.skip(spawnSync('script', ['--version']).status !== 0, 'needs script(1) for a terminal');
  const onTerminal = async (command: string, more: Record<string, string> = {}, answer = '') => {
    const { FORCE_COLOR: _, NO_COLOR: __, CI: ___, ...own } = process.env;
    const child = spawn('script', ['-qec', `'${process.execPath}' '${main}' profiles ${command}`, '/dev/null'], {
      env: { ...own, ...env, TERM: 'xterm', ...more },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (data: Buffer) => {
      output += String(data);
      if (String(data).includes('[y/N]')) child.stdin.write(`${answer}\n`);
    });
    const [code] = await once(child, 'close');
    return { code: code as number, output };
  };
  await cli('profiles create ann');
  expect((await onTerminal('list')).output).toContain('\u001B[1mNAME');
  expect((await onTerminal('list', { NO_COLOR: '1' })).output).not.toContain('\u001B');
  for (const [answer, code, output, status] of [
    ['n', 1, 'nothing was changed', 200],
    ['y', 0, '', 404],
  ] as const) {
    const deleted = { code, output: expect.stringContaining(output) };
    expect(await onTerminal('delete ann', {}, answer)).toMatchObject(deleted);
    expect((await call('GET', '/profiles/ann')).status).toBe(status);
  }
});

/** An archive of a new user-data directory. */
async function archiveIn(directory: string): Promise<Buffer> {
  await mkdir(join(directory, 'Default'), { recursive: true });
  await writeFile(join(directory, 'Default', 'Preferences'), '{}');
  await writeFile(join(directory, 'Local State'), '{}');
  return await buffer(pack(directory));
}
