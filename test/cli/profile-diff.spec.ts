import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, expect } from '@playwright/test';
import { findChromium } from '../../src/service/chromium/find-chromium.ts';
import { logInUnder, test } from './profile-commands.ts';

const masked = (length: number) => ({ length, mark: expect.stringMatching(/^[0-9a-f]{8}$/) });
const nothing = { added: [], removed: [], changed: [] };

test('profile diff compares profiles, archives and directories, and masks values by default @long', async ({
  run,
  service,
  site,
}) => {
  const { call } = service;
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'secret-1');
  await run(['download', 'ann']);
  await run(['unpack', 'ann.tar.zst', '-o', 'before']);
  expect(await run(['diff', 'ann', './before'])).toEqual({
    code: 0,
    stdout: 'Nothing differs.\n',
    stderr: expect.any(String),
  });
  await logInUnder(call, 'ann', site, 'secret-22');

  const { origin } = new URL(site);
  const text = await run(['diff', 'ann.tar.zst', 'ann']);
  expect(text.code).toBe(1);
  expect(text.stdout).toMatch(/^cookies\n {2}~ login localhost\/ {2}8 characters #\w{8} \(.*(?:SameSite|expires)/);
  expect(text.stdout).toContain(`local storage\n  ~ ${origin} login  8 characters #`);
  const json = await run(['diff', './before', 'ann', '--json']);
  expect(text.stdout + json.stdout).not.toContain('secret');
  // Equal values have the same mark in one output. Other outputs have other marks.
  const [cookie, item] = [
    JSON.parse(json.stdout).cookies.changed[0].after,
    JSON.parse(json.stdout).local_storage.changed[0].after,
  ];
  expect(cookie.mark).toBe(item.mark);
  expect(text.stdout).not.toContain(item.mark);
  expect(JSON.parse(json.stdout)).toMatchObject({
    equal: false,
    local_storage: { ...nothing, changed: [{ key: `${origin} login`, before: masked(8), after: masked(9) }] },
    cookies: {
      ...nothing,
      changed: [
        { key: 'login localhost/', before: masked(8), after: masked(9) },
        { key: 'session localhost/', before: { ...masked(8), attributes: 'session' }, after: masked(9) },
      ],
    },
  });
  const shown = JSON.parse((await run(['diff', './before', 'ann', '--json', '--show-values'])).stdout);
  expect(shown.local_storage.changed).toEqual([
    { key: `${origin} login`, before: { value: 'secret-1' }, after: { value: 'secret-22' } },
  ]);
});

test('profile diff reads local storage from the log and the compressed tables of LevelDB @long', async ({
  run,
}, testInfo) => {
  const origins = ['http://localhost:1234', 'https://a.test', 'https://example.com', 'https://www.example.com'];
  const directory = testInfo.outputPath('user-data');
  // LevelDB turns a log into a table if it grows over 64 kB, and at the next start.
  for (const round of ['first', 'second']) {
    const context = await chromium.launchPersistentContext(directory, {
      executablePath: await findChromium(true, undefined, process.env),
      chromiumSandbox: process.getuid?.() !== 0,
    });
    const page = await context.newPage();
    await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body: '' }));
    for (const origin of round === 'first' ? origins : origins.slice(0, 1)) {
      await page.goto(`${origin}/`);
      await page.evaluate((round) => localStorage.setItem(`${round}\n`, 'ü'.repeat(20_000)), round);
    }
    const cookie = {
      name: 'login',
      value: round,
      domain: 'a.test',
      path: '/',
      secure: true,
      sameSite: 'None',
      expires: 2e9,
    } as const;
    if (round === 'second')
      await context.addCookies([cookie, { ...cookie, httpOnly: true, partitionKey: 'https://example.com' }]);
    await context.close();
  }
  const tables = join(directory, 'Default', 'Local Storage', 'leveldb');
  const named = async (ending: string) => (await readdir(tables)).filter((name) => name.endsWith(ending));
  const logs = await Promise.all((await named('.log')).map((name) => readFile(join(tables, name), 'latin1')));
  expect(logs.join('')).not.toContain('a.test');
  const names = await named('.ldb');
  const table = await readFile(join(tables, names[0]!));
  // An interrupted compaction leaves truncated and empty tables.
  await writeFile(join(tables, '999998.ldb'), table.subarray(30));
  await writeFile(join(tables, '999999.ldb'), '');
  await mkdir(testInfo.outputPath('empty'));
  const { stdout } = await run(['diff', './empty', './user-data', '--json', '--show-values']);
  expect(JSON.parse(stdout).cookies.added).toMatchObject([
    {
      key: 'login a.test/',
      value: 'second',
      attributes: expect.stringMatching(/^expires 20\S+, Secure, SameSite=None$/),
    },
    {
      key: 'login a.test/ in https://example.com',
      attributes: expect.stringMatching(/^expires 20\S+, HttpOnly, Secure, SameSite=None$/),
    },
  ]);
  const { added } = JSON.parse(stdout).local_storage as { added: { key: string; value: string }[] };
  expect(added.map(({ key }) => key)).toEqual([
    `${origins[0]} first\n`,
    `${origins[0]} second\n`,
    ...origins.slice(1).map((origin) => `${origin} first\n`),
  ]);
  expect(added.every(({ value }) => value === 'ü'.repeat(20_000))).toBe(true);
  expect((await run(['diff', './user-data', './empty'])).stdout).toContain(
    '  - http://localhost:1234 first\\n  20000 characters #',
  );
});

test('profile diff compares preferences and extensions, also with variables that are empty', async ({
  run,
}, testInfo) => {
  const empty = { PLAYWRIGHT_POOL_CHROMIUM: '', PLAYWRIGHT_POOL_PROJECT: '', PLAYWRIGHT_POOL_DATA_DIR: '' };
  const id = 'abcdefghijklmnopabcdefghijklmnop';
  const userData = async (name: string, preferences: object, version?: string) => {
    const profile = testInfo.outputPath(name, 'Default');
    await mkdir(profile, { recursive: true });
    await writeFile(join(profile, 'Preferences'), JSON.stringify(preferences));
    // An extension that Chromium was unpacking, and the empty directory of a removed one.
    await mkdir(join(profile, 'Extensions/Temp/new'), { recursive: true });
    await mkdir(join(profile, 'Extensions', 'o'.repeat(32)), { recursive: true });
    await writeFile(
      join(profile, 'Secure Preferences'),
      JSON.stringify({ secure: name, protection: { macs: { homepage: name } } }),
    );
    if (version === undefined) return;
    const extension = join(profile, 'Extensions', id, `${version}_0`);
    await mkdir(extension, { recursive: true });
    await writeFile(join(extension, 'manifest.json'), `\uFEFF${JSON.stringify({ name: 'Notes', version })}`);
  };
  const settings = { ['p'.repeat(32)]: { location: 4, path: '/notes' }, [id]: { location: 1, path: 'unused' } };
  await userData('one', { homepage: 'https://a.test', browser: { clear: [1, 2] }, extensions: { settings } });
  await userData('two', { homepage: 'https://b.test', browser: { clear: [1, 2], dark: true } }, '1.2');
  await userData('three', {}, '1.3');
  const compare = async (a: string, b: string) =>
    JSON.parse((await run(['diff', a, b, '--json', '--show-values'], empty)).stdout);
  expect(await compare('./one', './two')).toEqual({
    equal: false,
    cookies: nothing,
    local_storage: nothing,
    preferences: {
      added: [{ key: 'browser.dark', value: 'true' }],
      removed: [],
      changed: [
        { key: 'homepage', before: { value: '"https://a.test"' }, after: { value: '"https://b.test"' } },
        { key: 'secure', before: { value: '"one"' }, after: { value: '"two"' } },
      ],
    },
    extensions: {
      ...nothing,
      added: [{ key: id, value: 'Notes 1.2' }],
      removed: [{ key: 'p'.repeat(32), value: 'unpacked at /notes' }],
    },
  });
  expect(await compare('./two', './three')).toMatchObject({
    extensions: { ...nothing, changed: [{ key: id, before: { value: 'Notes 1.2' }, after: { value: 'Notes 1.3' } }] },
  });
});

test('profile diff exits with 2 and the reason if it fails', async ({ run, service: { call } }, testInfo) => {
  await mkdir(testInfo.outputPath('letters'));
  await writeFile(testInfo.outputPath('letters', 'letter'), '');
  await mkdir(testInfo.outputPath('damaged', 'Default'), { recursive: true });
  await writeFile(testInfo.outputPath('damaged', 'Default', 'Preferences'), '{');
  await call('POST', '/profiles', { name: 'unsaved' });
  for (const [source, problem] of [
    ['nobody', /404 not_found: .*For a file or directory of that name, write \.\/nobody/],
    [
      'unsaved',
      /nothing was saved in the profile unsaved yet: run tests with poolProfile: \{ name: 'unsaved', save: true \}/,
    ],
    ['./nowhere', /nowhere cannot be read \(ENOENT\)/],
    ['./letters', /letters is not a user-data directory/],
    ['./damaged', /Preferences is not JSON: the profile is damaged/],
  ] as const) {
    const { code, stdout, stderr } = await run(['diff', source, './nowhere']);
    expect(code, source).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(problem);
    expect(stderr).toMatch(/^playwright-pool: .+\n$/);
  }
});
