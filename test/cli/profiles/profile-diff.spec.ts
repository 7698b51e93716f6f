import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import { findChromium } from '../../../src/service/chromium/find-chromium.ts';
import { logInUnder } from '../../support/service/profiles.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, expectFailure, test } from '../commands.ts';

const masked = (length: number) => ({ length, mark: expect.stringMatching(/^[0-9a-f]{8}$/) });
const nothing = { added: [], removed: [], changed: [] };

test('profiles diff masks values of profiles, archives and directories @long', async ({ cli, service, site }) => {
  const { call } = service;
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'secret-1');
  await cli('profiles download ann');
  await cli('profiles unpack ann.tar.zst -o before');
  expect(await cli('profiles diff ann ./before')).toMatchObject({ code: 0, stdout: 'Nothing differs.\n' });
  await logInUnder(call, 'ann', site, 'secret-22');

  const { origin } = new URL(site);
  const text = await cli('profiles diff ann.tar.zst ann');
  expect(text.code).toBe(1);
  expect(text.stdout).toMatch(/^cookies\n {2}~ login localhost\/ {2}8 characters #\w{8} \(.*(?:SameSite|expires)/);
  expect(text.stdout).toContain(`local storage\n  ~ ${origin} login  8 characters #`);
  const { stdout } = await cli('profiles diff ./before ann --json');
  expect(text.stdout + stdout).not.toContain('secret');
  // Equal values have the same mark in one output. Other outputs have other marks.
  const found = JSON.parse(stdout);
  const { mark } = found.local_storage.changed[0].after;
  expect(found.cookies.changed[0].after.mark).toBe(mark);
  expect(text.stdout).not.toContain(mark);
  expect(found).toMatchObject({
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
  const shown = JSON.parse((await cli('profiles diff ./before ann --json --show-values')).stdout);
  expect(shown.local_storage.changed).toEqual([
    { key: `${origin} login`, before: { value: 'secret-1' }, after: { value: 'secret-22' } },
  ]);
});

test('profiles diff reads local storage from the log and compressed tables of LevelDB @long', async ({ cli }) => {
  const origins = ['http://localhost:1234', 'https://a.test', 'https://example.com', 'https://www.example.com'];
  const directory = outputPath('user-data');
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
    if (round === 'second') {
      const place = { domain: 'a.test', path: '/', secure: true, sameSite: 'None' } as const;
      const cookie = { name: 'login', value: round, expires: 2e9, ...place };
      await context.addCookies([cookie, { ...cookie, httpOnly: true, partitionKey: 'https://example.com' }]);
    }
    await context.close();
  }
  const tables = join(directory, 'Default', 'Local Storage', 'leveldb');
  const named = async (ending: string) => (await readdir(tables)).filter((name) => name.endsWith(ending));
  const logs = await Promise.all((await named('.log')).map((name) => readFile(join(tables, name), 'latin1')));
  expect(logs.join('')).not.toContain('a.test');
  const [name] = await named('.ldb');
  const table = await readFile(join(tables, name!));
  // An interrupted compaction leaves truncated and empty tables.
  await writeFile(join(tables, '999998.ldb'), table.subarray(30));
  await writeFile(join(tables, '999999.ldb'), '');
  await mkdir(outputPath('empty'));
  const { stdout } = await cli('profiles diff ./empty ./user-data --json --show-values');
  const attributes = expect.stringMatching(/^expires 20\S+, Secure, SameSite=None$/);
  const hidden = expect.stringMatching(/^expires 20\S+, HttpOnly, Secure, SameSite=None$/);
  expect(JSON.parse(stdout).cookies.added).toMatchObject([
    { key: 'login a.test/', value: 'second', attributes },
    { key: 'login a.test/ in https://example.com', attributes: hidden },
  ]);
  const { added } = JSON.parse(stdout).local_storage as { added: { key: string; value: string }[] };
  const [first, ...others] = origins;
  const keys = [`${first} first\n`, `${first} second\n`, ...others.map((origin) => `${origin} first\n`)];
  expect(added.map(({ key }) => key)).toEqual(keys);
  expect(added.every(({ value }) => value === 'ü'.repeat(20_000))).toBe(true);
  const removed = '  - http://localhost:1234 first\\n  20000 characters #';
  expect((await cli('profiles diff ./user-data ./empty')).stdout).toContain(removed);
});

/** Writes a user-data directory with these preferences, and with extensions of these versions. */
async function writeUserData(name: string, preferences: object, extensions: Record<string, string>): Promise<void> {
  const profile = outputPath(name, 'Default');
  await mkdir(profile, { recursive: true });
  const secure = { secure: name, protection: { macs: { homepage: name } } };
  await writeFile(join(profile, 'Preferences'), JSON.stringify(preferences));
  await writeFile(join(profile, 'Secure Preferences'), JSON.stringify(secure));
  // An extension that Chromium was unpacking, and the empty directory of a removed one.
  await mkdir(join(profile, 'Extensions/Temp/new'), { recursive: true });
  await mkdir(join(profile, 'Extensions', 'o'.repeat(32)), { recursive: true });
  for (const [id, version] of Object.entries(extensions)) {
    const extension = join(profile, 'Extensions', id, `${version}_0`);
    await mkdir(extension, { recursive: true });
    await writeFile(join(extension, 'manifest.json'), `\uFEFF${JSON.stringify({ name: 'Notes', version })}`);
  }
}

test('profiles diff compares preferences and extensions, also with variables that are empty', async ({ cli }) => {
  const env = { PLAYWRIGHT_POOL_CHROMIUM: '', PLAYWRIGHT_POOL_PROJECT: '', PLAYWRIGHT_POOL_DATA_DIR: '' };
  const [added, updated, unpacked] = ['a', 'b', 'p'].map((letter) => letter.repeat(32)) as [string, string, string];
  const settings = { [unpacked]: { location: 4, path: '/notes' }, [added]: { location: 1, path: 'unused' } };
  const before = { homepage: 'https://a.test', browser: { clear: [1, 2] }, extensions: { settings } };
  const after = { homepage: 'https://b.test', browser: { clear: [1, 2], dark: true } };
  await writeUserData('one', before, { [updated]: '1.2' });
  await writeUserData('two', after, { [added]: '1.2', [updated]: '1.3' });
  const { stdout } = await cli('profiles diff ./one ./two --json --show-values', { env });
  expect(JSON.parse(stdout)).toEqual({
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
      added: [{ key: added, value: 'Notes 1.2' }],
      removed: [{ key: unpacked, value: 'unpacked at /notes' }],
      changed: [{ key: updated, before: { value: 'Notes 1.2' }, after: { value: 'Notes 1.3' } }],
    },
  });
});

test('profiles diff exits with 2 and the reason if it fails', async ({ cli, service: { call } }) => {
  await mkdir(outputPath('letters'));
  await writeFile(outputPath('letters', 'letter'), '');
  await mkdir(outputPath('damaged', 'Default'), { recursive: true });
  await writeFile(outputPath('damaged', 'Default', 'Preferences'), '{');
  await call('POST', '/profiles', { name: 'unsaved' });
  for (const [source, problem] of [
    ['nobody', /404 not_found: .*For a file or directory of that name, write \.\/nobody/],
    ['unsaved', /in the profile unsaved yet: run tests with poolProfile: \{ name: 'unsaved', save: true \}/],
    ['./nowhere', /nowhere cannot be read \(ENOENT\)/],
    ['./letters', /letters is not a user-data directory/],
    ['./damaged', /Preferences is not JSON: the profile is damaged/],
  ] as const) {
    const failed = await cli(`profiles diff ${source} ./nowhere`);
    expectFailure(failed, 2, problem);
    expect(failed.stderr).toMatch(/^playwright-pool: .+\n$/);
  }
});
