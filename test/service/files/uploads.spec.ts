import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { sessionDirectory } from '../../support/service/machines.ts';
import { startTestService } from '../../support/service/service.ts';
import { breakOff, contents, contentType, encoded } from '../../support/service/uploads.ts';
import { onTheirWay, test, type Part } from '../../support/service/uploads.ts';

const spellings: Record<string, (field: string, index: number) => string> = {
  'files[0][file]': (field, index) => `files[${index}][${field}]`,
  'files[0].file': (field, index) => `files[${index}].${field}`,
  'files.0.file': (field, index) => `files.${index}.${field}`,
};

test('stores uploaded files at their paths, with any spelling and order of the parts', async ({ send, root }) => {
  const large = Buffer.alloc(3_000_000, 'large');
  for (const [spelling, name] of Object.entries(spellings)) {
    await test.step(spelling, async () => {
      const parts: Part[] = [
        [name('dest_path', 0), `/${spelling}/made/a.txt`],
        [name('file', 0), 'a', 'file'],
        [name('file', 7), large, 'file'],
        [name('file', 2), '', 'file'],
        [name('dest_path', 2), `/${spelling}/empty`],
        [name('dest_path', 7), `/${spelling}/large`],
      ];
      expect(await send('upload', parts)).toMatchObject({ status: 201, body: '' });
      const directory = join(root, spelling);
      expect((await readdir(directory)).toSorted()).toEqual(['empty', 'large', 'made']);
      expect((await stat(join(directory, 'large'))).size).toBe(large.length);
      expect((await stat(join(directory, 'empty'))).size).toBe(0);
      expect((await stat(join(directory, 'made'))).mode & 0o777).toBe(0o755);
      expect(await contents(join(directory, 'made'))).toBe('a.txt 0644 a');
      expect(onTheirWay(root)).toEqual([]);
    });
  }
});

test('stores a single file without list, name or type, and replaces files', async ({ service, send, fs, root }) => {
  expect((await send('upload', [['file', 'a', 'file'], ['dest_path', '/a']])).status).toBe(201); // prettier-ignore
  expect(await contents(root)).toContain('a 0644 a');

  const file = '--cut\r\nContent-Disposition: form-data; name="files[0][file]"\r\n\r\ntext\r\n';
  const path = '--cut\r\ncontent-disposition: form-data; name="files[0][dest_path]"; filename="x"\r\n\r\n/a\r\n';
  const body = `${file}${path}--cut--\r\n`;
  const type = { 'content-type': 'Multipart/Form-Data; boundary="cut"' };
  expect((await service.call('POST', `${fs}/upload`, body, type)).status).toBe(201);
  expect(await contents(root)).toContain('a 0644 text');

  await chmod(join(root, 'a'), 0o600);
  await symlink('a', join(root, 'link'));
  expect((await send('upload', [['dest_path', '/link'], ['file', 'new', 'file']])).status).toBe(201); // prettier-ignore
  expect((await contents(root)).split('\n')).toEqual(expect.arrayContaining(['a 0644 new', 'link 0777']));
});

/** Parts for small files with these destinations. */
function at(...paths: string[]): Part[] {
  return paths.flatMap((path, index): Part[] => [
    [`files[${index}][dest_path]`, path],
    [`files[${index}][file]`, 'x', 'file'],
  ]);
}

const below = /two files have the destination "\/a", or another file needs it/;

const mistakes: [title: string, parts: Part[], message: RegExp, status?: number][] = [
  ['no parts', [], /files/],
  ['a destination without a file', [['files[0][dest_path]', '/a']], /files\.0\.file: must be a file/],
  ['a file without a destination', [['files[0][file]', 'x', 'file']], /files\.0\.dest_path/],
  ['a relative destination', at('/ok', 'a'), /files\.1\.dest_path: must be an absolute path/],
  ['an empty destination', at(''), /files\.0\.dest_path/],
  ['a destination with a NUL character', at('/a\0b'), /files\.0\.dest_path/],
  ['a destination outside the root', at('/ok', '/../../x'), /leads out of the session/, 403],
  ['a destination behind a link out of the root', at('/ok', '/out/x'), /leads out of the session/, 403],
  ['the root as a destination', at('/ok', '/'), /is a directory/],
  ['a directory as a destination', at('/ok', '/home'), /"\/home" is a directory/],
  ['a destination below a file', at('/ok', '/file/x'), /a file exists where a directory is needed/],
  ['a name that is too long', at('/ok', `/${'x'.repeat(300)}`), /too long/],
  ['a name that is too long in a new directory', at('/ok', `/new/${'x'.repeat(256)}`), /too long/],
  ['one destination for two files', at('/a', '/./a'), /two files have the destination "\/a"/],
  ['a destination below that of another file', at('/a/b', '/a'), below],
  ['a destination below that of another file, others between them', at('/a', '/a.b', '/a/b', '/undefined'), below],
  ['an unknown text', [...at('/a'), ['mode', '644']], /mode: unknown field/],
  ['an unknown file', [...at('/a'), ['zip_file', 'x', 'file']], /zip_file: unknown field/],
  ['an unknown field of a file', [...at('/a'), ['files[0][mode]', '644']], /files\.0\.mode: unknown field/],
  ['a list by a name', [['files[a][dest_path]', '/a']], /files\.a\.dest_path: unknown field/],
  ['a list without a number', [['files', '/a']], /files: unknown field/],
  ['a field of everything', [['__proto__[polluted]', 'x']], /__proto__\.polluted: unknown field/],
  ['a part without a name', [['', 'x']], /unknown field/],
  ['a part twice', [...at('/a'), ['files[0].dest_path', '/b']], /files\.0\.dest_path: was sent twice/],
];

test('refuses bad uploads, names the mistake and stores nothing', async ({ service, send, fs, root, outside }) => {
  await writeFile(join(root, 'file'), 'old');
  await symlink(outside, join(root, 'out'));
  const before = await contents(root);
  for (const [mistake, parts, message, status = 400] of mistakes) {
    await test.step(mistake, async () => {
      const { body, ...answer } = await send('upload', parts);
      const details: { message: string }[] = body.details ?? [];
      expect([body, ...details].map((detail) => detail.message).join('\n')).toMatch(message);
      expect(answer.status).toBe(status);
      expect(await contents(root)).toBe(before);
    });
  }
  const raw = (body: string | Uint8Array<ArrayBuffer>, type: string) =>
    service.call('POST', `${fs}/upload`, body, { 'content-type': type });
  const whole = encoded(at('/a'));
  expect(await raw('{}', 'application/json')).toMatchObject({
    status: 415,
    body: { message: expect.stringContaining('multipart/form-data') },
  });
  expect((await raw(whole, 'multipart/form-data')).body.message).toContain('boundary');
  expect((await raw(whole, 'multipart/form-data; boundary=other')).status).toBe(400);
  expect((await raw('', 'multipart/form-data; boundary=cut')).status).toBe(400);
  for (const end of [10, 60, 100, whole.length - 8]) {
    expect(await raw(whole.subarray(0, end), 'multipart/form-data; boundary=cut')).toMatchObject({
      status: 400,
      body: { code: 'bad_request' },
    });
  }
  expect((await raw('\0'.repeat(1000), 'multipart/form-data; boundary=cut')).status).toBe(400);
  expect(await contents(root)).toBe(before);
});

test('stores nothing if an upload ends early', async ({ service, fs, root }) => {
  await writeFile(join(root, 'b'), 'old');
  const before = await contents(root);
  const parts = encoded([
    ['files[0][dest_path]', '/a'],
    ['files[0][file]', 'complete', 'file'],
    ['files[1][dest_path]', '/b'],
    ['files[1][file]', Buffer.alloc(1_000_000), 'file'],
  ]);
  await breakOff(service, `${fs}/upload`, parts.subarray(0, 700_000), () => onTheirWay(root).length > 0);
  await expect.poll(() => onTheirWay(root)).toEqual([]);
  expect(await contents(root)).toBe(before);
});

test('takes many small files in one upload @long', async ({ send, root }) => {
  const paths = Array.from({ length: 1000 }, (_, index) => `/many/${index % 10}/${index}`);
  expect((await send('upload', at(...paths))).status).toBe(201);
  expect((await readdir(join(root, 'many'), { recursive: true })).length).toBe(1010);
});

test('refuses an upload of 2000 files to deep paths if two of the paths collide @long', async ({ send, root }) => {
  const before = await contents(root);
  const paths = Array.from({ length: 2000 }, (_, index) => `/${index}${'/a'.repeat(2000)}`);
  const answer = await send('upload', at(...paths, '/1999/a/a'));
  expect(answer).toMatchObject({
    status: 400,
    body: {
      message:
        'two files have the destination "/1999/a/a", or another file needs it as its directory: choose other paths',
    },
  });
  expect(await contents(root)).toBe(before);
});

test('streams a large upload with little memory @long', async ({ client, fs, root }) => {
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  const before = process.memoryUsage().rss;
  let highest = before;
  async function* file(size: number) {
    for (let sent = 0; sent < size; sent += 1) {
      highest = Math.max(highest, process.memoryUsage().rss);
      yield chunk;
    }
  }
  const id = fs.split('/')[2]!;
  const files = [200, 100].map((size) => ({ dest_path: `/${size}`, file: file(size) }));
  await client.browsers.fs.upload(id, { files });
  expect((await stat(join(root, '200'))).size).toBe(200 * 1024 * 1024);
  expect((highest - before) / 1024 / 1024).toBeLessThan(120);
});

test('refuses an upload over the limit, and stores nothing', async ({}, testInfo) => {
  const data = testInfo.outputPath('data');
  await using service = await startTestService({ dataDirectory: data, bodyLimit: 100_000 });
  const { call } = service;
  const id = (await call('POST', '/browsers', {})).body.session_id;
  const root = join(sessionDirectory(data, id), 'root');
  const before = await contents(root);
  const send = (path: string, size: number) => {
    const body = encoded([['dest_path', path], ['file', Buffer.alloc(size), 'file']]); // prettier-ignore
    return call('POST', `/browsers/${id}/fs/upload`, body, { 'content-type': contentType });
  };
  expect((await send('/a', 99_000)).status).toBe(201);
  expect(await send('/b', 200_000)).toMatchObject({
    status: 413,
    body: { code: 'payload_too_large', message: expect.stringContaining('100000 bytes') },
  });
  expect(await contents(root)).toBe(`a 0644 ${'\0'.repeat(99_000)}\n${before}`);
});

test('answers 507 to an upload on a full disk, and keeps no part of any file', async ({ send, tinyRoot }) => {
  await mkdir(join(tinyRoot, 'home'));
  const parts: Part[] = [
    ['files[0][dest_path]', '/home/small'],
    ['files[0][file]', 'x', 'file'],
    ['files[1][dest_path]', '/home/large'],
    ['files[1][file]', Buffer.alloc(5_000_000), 'file'],
  ];
  expect(await send('upload', parts)).toMatchObject({ status: 507, body: { code: 'insufficient_storage' } });
  expect(await readdir(tinyRoot, { recursive: true })).toEqual(['home']);
  expect((await send('upload', parts.slice(0, 2))).status).toBe(201);
});
