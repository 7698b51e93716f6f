import { writeAsOwner } from '../../support/processes/open-directory.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { chromium, expect } from '@playwright/test';
import { extract } from '../../../src/archive/index.ts';
import { findChromium } from '../../../src/service/chromium/find-chromium.ts';
import { startService, type Service } from '../../../src/service/service.ts';
import { everywhere, kept, logIn, logInUnder, startSession, test } from '../../support/service/profiles.ts';
import { callerOf, dataDirectory } from '../../support/service/service.ts';

async function download({ url, apiKey }: Service, path: string): Promise<IncomingMessage> {
  const request = get(`${url}${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  return answer;
}

test('a profile that was never saved has no archive to download @long', async ({ service, site }) => {
  const { call } = service;
  await call('POST', '/profiles', { name: 'ann' });
  await startSession(call, { profile: { name: 'ann', save_changes: true } });
  const answer = await call('GET', '/profiles/ann/download');
  expect(answer).toMatchObject({ status: 202, body: '' });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  await logInUnder(call, 'ann', site, 'first');
  expect((await call('GET', '/profiles/ann/download')).status).toBe(200);
});

test('downloads user data whose login works in any Chromium @long', async ({ service, site }, testInfo) => {
  await service.call('POST', '/profiles', { name: 'ann' });
  await logInUnder(service.call, 'ann', site, 'first');
  const answer = await download(service, '/profiles/ann/download');
  expect(answer.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="ann.tar.zst"',
  });
  const directory = testInfo.outputPath('elsewhere');
  await extract(answer, directory);

  const context = await chromium.launchPersistentContext(directory, {
    executablePath: await findChromium(true, undefined, process.env),
    env: { ...process.env, HOME: testInfo.outputPath('other-home') },
  });
  const page = await context.newPage();
  await page.goto(site);
  // Only the service restores session cookies.
  const { sessionCookie: _, ...lasting } = everywhere('first');
  expect(await kept(page)).toEqual(lasting);
  await context.close();
});

test('downloads a profile as tar, compressed or not, with the same entries', async ({ service, site }, testInfo) => {
  const { body: profile } = await service.call('POST', '/profiles', {});
  const session = await startSession(service.call, { profile: { id: profile.id, save_changes: true } });
  await logIn(session, site, 'first');
  await service.call('DELETE', `/browsers/${session.session_id}`);
  await mkdir(testInfo.outputDir, { recursive: true });
  const list = async (format: string) => {
    const answer = await download(service, `/profiles/${profile.id}/download?format=${format}`);
    const file = testInfo.outputPath(`archive.${format}`);
    expect(answer.headers['content-disposition']).toBe(`attachment; filename="${profile.id}.${format}"`);
    await pipeline(answer, createWriteStream(file));
    const { status, stdout, stderr } = spawnSync('tar', ['-tf', file], { encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    return stdout.trim().split('\n');
  };
  const entries = await list('tar');
  expect(entries).toContain('Default/Cookies');
  expect(entries).toContain('session-cookies.json');
  expect(entries.some((entry) => entry.startsWith('Singleton') || entry === 'DevToolsActivePort')).toBe(false);
  test.skip(spawnSync('zstd', ['--version']).status !== 0, 'there is no zstd here');
  expect(await list('tar.zst')).toEqual(entries);
});

test('a download of a profile stays unchanged while the profile is saved again @long', async ({ site }, testInfo) => {
  const directory = dataDirectory(testInfo);
  await using service = await startService({ dataDirectory: directory });
  const call = callerOf(service);
  await call('POST', '/profiles', { name: 'ann' });
  const session = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  await logIn(session, site, 'first');
  // More than the buffers of the sockets, so that the download waits for its reader.
  const large = Buffer.from(Array.from({ length: 64 * 1024 }, (_, index) => (index * index) % 251));
  const userData = join(sessionDirectory(directory, session.session_id), 'user-data');
  for (let index = 0; index < 512; index += 1) writeAsOwner(join(userData, `zz-${index}`), large);
  expect((await call('DELETE', `/browsers/${session.session_id}`)).status).toBe(204);

  const answer = await download(service, '/profiles/ann/download?format=tar');
  const [first] = await readdir(join(directory, 'profiles'));
  await logInUnder(call, 'ann', site, 'second');
  expect(await readdir(join(directory, 'profiles'))).toHaveLength(2);
  const archive = testInfo.outputPath('archive.tar');
  await pipeline(answer, createWriteStream(archive));
  expect(spawnSync('tar', ['-xOf', archive, 'zz-511']).stdout).toEqual(large);
  await expect.poll(() => existsSync(join(directory, 'profiles', first!))).toBe(false);
});

test("removes a profile's old version if the caller hangs up during the download @long", async ({ site }, testInfo) => {
  const directory = dataDirectory(testInfo);
  await using service = await startService({ dataDirectory: directory });
  const call = callerOf(service);
  await call('POST', '/profiles', { name: 'ann' });
  const session = await startSession(call, { profile: { name: 'ann', save_changes: true } });
  const userData = join(sessionDirectory(directory, session.session_id), 'user-data');
  writeAsOwner(join(userData, 'zz'), Buffer.alloc(32 * 1024 * 1024));
  await call('DELETE', `/browsers/${session.session_id}`);
  const answer = await download(service, '/profiles/ann/download?format=tar');
  await logInUnder(call, 'ann', site, 'second');
  expect(await readdir(join(directory, 'profiles'))).toHaveLength(2);
  answer.destroy();
  await expect.poll(async () => (await readdir(join(directory, 'profiles'))).length).toBe(1);
});
