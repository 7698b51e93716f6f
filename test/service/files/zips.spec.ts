import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@playwright/test';
import { openPromise } from 'yauzl';
import { breakOff, contents, encoded, onTheirWay, test, zipOf, zipWith } from '../../support/service/uploads.ts';
import { openFilesIn } from '../../support/processes/open-files.ts';
import type { TestService } from '../../support/service/service.ts';

/** Writes an archive that the service sends to a file. */
async function download({ url, apiKey }: TestService, fs: string, path: string, to: string): Promise<Response> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const answer = await fetch(`${url}${fs}/download_dir_zip?path=${encodeURIComponent(path)}`, { headers });
  if (answer.ok) await writeFile(to, Buffer.from(await answer.arrayBuffer()));
  return answer;
}

async function entriesOf(archive: string): Promise<string[]> {
  const zip = await openPromise(archive);
  const names: string[] = [];
  for await (const entry of zip.eachEntry()) names.push(entry.fileName);
  return names;
}

test('extracts a zipped directory without links @long', async ({ service, send, fs, root, outside }, testInfo) => {
  const archive = testInfo.outputPath('archive.zip');
  await mkdir(join(root, 'home/d/empty'), { recursive: true });
  await mkdir(join(root, 'home/d/grüße'));
  for (const directory of ['empty', 'grüße']) await chmod(join(root, 'home/d', directory), 0o755);
  await writeFile(join(root, 'home/d/grüße/ä b'), 'x'.repeat(100_000));
  await writeFile(join(root, 'home/d/script'), '#!/bin/sh\n');
  await chmod(join(root, 'home/d/script'), 0o755);
  await writeFile(join(root, 'home/d/none'), '');
  await writeFile(join(root, 'home/d/C:not a drive'), 'colon');
  await utimes(join(root, 'home/d/none'), 0, 0);
  await symlink('script', join(root, 'home/d/link'));
  await symlink(outside, join(root, 'home/d/outside'));
  spawnSync('mkfifo', [join(root, 'home/d/fifo')]);

  const answer = await download(service, fs, '/home/d/', archive);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/zip');
  expect(await entriesOf(archive)).toEqual(['./C:not a drive', 'empty/', 'grüße/', 'grüße/ä b', 'none', 'script']);
  // Another program reads the archive.
  const python = spawnSync('python3', ['-m', 'zipfile', '-t', archive], { encoding: 'utf8' });
  if (!python.error) expect(python.stdout).toContain('Done testing');

  expect((await send('upload_zip', [['dest_path', '/copy/of/it'], ['zip_file', await readFile(archive), 'file']])).status).toBe(201); // prettier-ignore
  for (const left of ['link', 'outside', 'fifo']) await rm(join(root, 'home/d', left));
  expect(await contents(join(root, 'copy/of/it'))).toBe(await contents(join(root, 'home/d')));
  expect(onTheirWay(root)).toEqual([]);
});

test('zips and extracts an empty directory', async ({ service, send, fs, root }, testInfo) => {
  const archive = testInfo.outputPath('archive.zip');
  await mkdir(join(root, 'empty'));
  expect((await download(service, fs, '/empty', archive)).status).toBe(200);
  expect(await entriesOf(archive)).toEqual([]);
  expect((await send('upload_zip', [['zip_file', await readFile(archive), 'file'], ['dest_path', '/made']])).status).toBe(201); // prettier-ignore
  expect(await readdir(join(root, 'made'))).toEqual([]);
});

test("refuses to zip a path that isn't a directory", async ({ service, fs, root, outside }) => {
  const get = (path: string) => service.call('GET', `${fs}/download_dir_zip?path=${encodeURIComponent(path)}`);
  await writeFile(join(root, 'file'), 'x');
  await symlink(outside, join(root, 'out'));
  expect(await get('/file')).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('path is not a directory') },
  });
  expect(await get('/nowhere')).toMatchObject({ status: 404, body: { message: 'path not found: "/nowhere"' } });
  expect((await get('/out')).status).toBe(403);
  expect((await get('relative')).status).toBe(400);
});

test('zips a directory completely while its entries change @long', async ({ service, fs, root }, testInfo) => {
  const directory = join(root, 'changing');
  await mkdir(directory);
  for (const name of ['first', 'last']) await writeFile(join(directory, name), 'x'.repeat(20_000));
  const done = new AbortController();
  const change = async (name: string) => {
    const path = join(directory, name);
    while (!done.signal.aborted) {
      await writeFile(path, 'a file');
      await rm(path);
      await mkdir(path);
      await writeFile(join(path, 'below'), 'a file');
      await rm(path, { recursive: true });
    }
  };
  const changing = ['a', 'g', 'z'].map(change);
  try {
    for (let number = 0; number < 30; number += 1) {
      const archive = testInfo.outputPath('archive.zip');
      expect(await download(service, fs, '/changing', archive)).toMatchObject({ status: 200 });
      expect(await entriesOf(archive)).toEqual(expect.arrayContaining(['first', 'last']));
    }
  } finally {
    done.abort();
    await Promise.all(changing);
  }
});

test('closes all files if nobody reads a zip archive to its end', async ({ service, fs, root }) => {
  await mkdir(join(root, 'd'));
  for (let index = 0; index < 5; index += 1) await writeFile(join(root, `d/${index}`), randomBytes(5_000_000));
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const unread = request(`${service.url}${fs}/download_dir_zip?path=/d`, { headers, agent: false }).end();
  await new Promise((resolve) => unread.once('response', resolve));
  unread.destroy();
  await expect.poll(async () => await openFilesIn(root)).toEqual([]);
});

test('keeps few files open while it zips a large directory @long', async ({ service, fs, root }, testInfo) => {
  await mkdir(join(root, 'd'));
  for (let index = 0; index < 2000; index += 1) await writeFile(join(root, `d/${index}`), '');
  let most = 0;
  const done = new AbortController();
  const archive = testInfo.outputPath('many.zip');
  const downloaded = download(service, fs, '/d', archive).finally(() => done.abort());
  while (!done.signal.aborted) {
    most = Math.max(most, (await openFilesIn(root)).length);
    await sleep(10);
  }
  expect((await downloaded).status).toBe(200);
  expect(await entriesOf(archive)).toHaveLength(2000);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(200);
});

test('extracts a zip archive over existing files, with its directories and modes', async ({ send, root }) => {
  await mkdir(join(root, 'to/a'), { recursive: true });
  await writeFile(join(root, 'to/a/b'), 'old');
  await writeFile(join(root, 'to/kept'), 'kept');
  for (const [name, mode] of [['a', 0o755], ['kept', 0o644]] as const) await chmod(join(root, 'to', name), mode); // prettier-ignore
  const zip = await zipOf([
    { name: 'a/b', content: 'new', options: { mode: 0o100600 } },
    // As in archives from other systems than Unix.
    { name: 'c/d/e', content: 'e', options: { mode: 0 } },
    { name: 'f/' },
  ]);
  expect((await send('upload_zip', [['zip_file', zip, 'file'], ['dest_path', '/to']])).status).toBe(201); // prettier-ignore
  const added = ['c 0755', 'c/d 0755', 'c/d/e 0644 e', 'f 0755'];
  const expected = ['a 0755', 'a/b 0600 new', ...added, 'kept 0644 kept'];
  expect(await contents(join(root, 'to'))).toBe(expected.join('\n'));
});

/** An archive with other bytes at the first match. */
async function damaged(exchange: (zip: Buffer) => void): Promise<Buffer> {
  const zip = await zipOf([
    { name: 'before', content: 'x' },
    { name: 'damaged', content: 'some text that is stored', options: { compress: false } },
  ]);
  exchange(zip);
  return zip;
}

const invalid = (text: string) => `invalid zip file: ${text}`;
const twice = (path: string) =>
  invalid(`two entries have the path ${path}, or another entry needs it as its directory`);
const zipOfNames = (...names: string[]) =>
  zipOf(names.map((name) => (name.endsWith('/') ? { name } : { name, content: 'x' })));
/** The position of the first entry in the archive's list. */
const listed = (zip: Buffer) => zip.lastIndexOf('PK\x01\x02');

const archives: [title: string, zip: () => Promise<Buffer> | Buffer, message: string | RegExp, status?: number][] = [
  ['no archive', () => Buffer.from('no archive'), /^invalid zip file: /],
  ['nothing', () => Buffer.alloc(0), /^invalid zip file: /],
  ['half an archive', async () => (await zipOfNames('a')).subarray(0, -30), /^invalid zip file: /],
  ['an absolute path', () => zipWith('/etc/evil'), invalid('absolute path: /etc/evil')],
  ['a path that climbs out', () => zipWith('../evil'), invalid('invalid relative path: ../evil')],
  ['a path that climbs out below', () => zipWith('a/../../evil'), invalid('invalid relative path: a/../../evil')],
  ['a path of Windows', () => zipWith('..\\evil'), invalid('invalid characters in fileName: ..\\evil')],
  ['a drive', () => zipWith('C:/evil'), invalid('absolute path: C:/evil')],
  ['a NUL character', () => zipWith('a\0evil'), /^invalid zip file: .*NUL/],
  ['a link', () => zipWith('link', '/etc', { mode: 0o120777 }), invalid('"link" is a link')],
  ['a device', () => zipWith('null', '', { mode: 0o020666 }), invalid('"null" is neither a file nor a directory')],
  ['a name twice', () => zipOfNames('a/b', 'a/./b'), twice('a/b')],
  ['a file below a file', () => zipOfNames('a/b', 'a'), twice('a')],
  ['a directory in the place of a file', () => zipOfNames('a', 'a/'), twice('a')],
  ['a name that is too long', () => zipOfNames('ok', 'x'.repeat(300)), /too long/],
  ['a file where a directory is', () => zipOfNames('ok', 'taken'), /is a directory/],
  ['a directory where a file is', () => zipOfNames('ok', 'file/'), /a file exists where a directory is needed/],
  ['a file behind a link out of the root', () => zipOfNames('ok', 'out/x'), /leads out of the session/, 403],
  [
    'damaged bytes',
    () => damaged((zip) => zip.write('S', zip.indexOf('some text'))),
    invalid('the checksum of "damaged" is wrong'),
  ],
  [
    'an encrypted file',
    () => damaged((zip) => zip.writeUInt16LE(zip.readUInt16LE(listed(zip) + 8) | 1, listed(zip) + 8)),
    /^invalid zip file: .*(encrypted|mismatch)/,
  ],
  [
    'an unknown compression',
    () => damaged((zip) => zip.writeUInt16LE(99, listed(zip) + 10)),
    invalid('"damaged" has the unknown compression method 99'),
  ],
  [
    'more bytes than it says',
    async () => {
      const zip = await zipOf([{ name: 'a', content: Buffer.alloc(100_000) }]);
      zip.writeUInt32LE(10, listed(zip) + 24);
      return zip;
    },
    /^invalid zip file: too many bytes/,
  ],
  [
    'a file that grows a thousandfold',
    () => zipOf([{ name: 'a', content: Buffer.alloc(70 * 1024 * 1024) }]),
    /would extract to 73400320, more than the allowed 67108864/,
    413,
  ],
];

test('refuses bad zip archives, and stores nothing @long', async ({ service, send, fs, root, outside }) => {
  await mkdir(join(root, 'to/taken'), { recursive: true });
  await writeFile(join(root, 'to/file'), 'old');
  await symlink(outside, join(root, 'to/out'));
  const before = await contents(root);
  for (const [mistake, zip, message, status = 400] of archives) {
    await test.step(mistake, async () => {
      const answer = await send('upload_zip', [['dest_path', '/to'], ['zip_file', await zip(), 'file']]); // prettier-ignore
      expect(answer.body.message).toMatch(message);
      expect(answer.status).toBe(status);
      expect(await contents(root)).toBe(before);
    });
  }
  const zip = await zipOf([{ name: 'a', content: 'x' }]);
  const refused = async (parts: Parameters<typeof send>[1], status: number, message: RegExp) => {
    const answer = await send('upload_zip', parts);
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringMatching(message)]);
  };
  await refused([['zip_file', zip, 'file']], 400, /dest_path/);
  await refused([['dest_path', '/to']], 400, /zip_file: must be a file/);
  await refused([['dest_path', 'to'], ['zip_file', zip, 'file']], 400, /dest_path: must be an absolute path/); // prettier-ignore
  await refused([['dest_path', '/../../x'], ['zip_file', zip, 'file']], 403, /leads out of the session/); // prettier-ignore
  await refused([['dest_path', '/to/file'], ['zip_file', zip, 'file']], 400, /a file exists where a directory is needed/); // prettier-ignore
  await refused([['dest_path', '/to'], ['zip_file', zip, 'file'], ['strip', '1']], 400, /strip: unknown field/); // prettier-ignore
  await refused([['dest_path', '/to'], ['file', zip, 'file']], 400, /file: unknown field/); // prettier-ignore
  expect((await service.call('POST', `${fs}/upload_zip`, zip, { 'content-type': 'application/zip' })).status).toBe(415);
  expect(await contents(root)).toBe(before);
});

test('stores nothing if a zip archive ends early', async ({ service, fs, root }) => {
  const before = await contents(root);
  const parts = encoded([['dest_path', '/to'], ['zip_file', Buffer.alloc(1_000_000), 'file']]); // prettier-ignore
  await breakOff(service, `${fs}/upload_zip`, parts.subarray(0, 500_000), () => onTheirWay(root).length > 0);
  await expect.poll(() => onTheirWay(root)).toEqual([]);
  expect(await contents(root)).toBe(before);
});

test('answers 507 on a full disk, and keeps no part of a zip archive', async ({ send, tinyRoot }) => {
  // Of 740 KB in the archive, so that it isn't read to its end when the disk is full.
  const content = Buffer.concat([...randomBytes(400_000)].map((byte) => Buffer.alloc(20, byte)));
  const zip = await zipOf([{ name: 'a', content: 'x' }, { name: 'b', content }]); // prettier-ignore
  expect(await send('upload_zip', [['dest_path', '/to'], ['zip_file', zip, 'file']])).toMatchObject({ status: 507 }); // prettier-ignore
  expect(await readdir(tinyRoot)).toEqual([]);
  // An open file would keep its space.
  expect(await openFilesIn(tinyRoot)).toEqual([]);
});
