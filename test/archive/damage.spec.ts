import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { compress } from '@mongodb-js/zstd';
import { pack } from '../../src/archive/index.ts';
import { randomOf } from '../support/processes/random.ts';
import { outputPath } from '../support/runs/output-path.ts';
import { contentOf, expectRefused, extractHere, sampleDirectory, sumHeader, tarOf, zstdOf } from './archives.ts';
import { expect, test } from '../support/worker.ts';

const anyRefusal = { code: expect.any(String) };

/** The borders of the frames of an archive of ours, which has an empty frame, a mark, frames of data, and a seal. */
function bordersOf(archive: Buffer): number[] {
  const magic = [Buffer.from('28b52ffd', 'hex'), Buffer.from('502a4d18', 'hex')];
  return Array.from(archive.keys()).filter((at) => magic.some((bytes) => archive.subarray(at, at + 4).equals(bytes)));
}

async function ourArchive(): Promise<Buffer> {
  return await buffer(pack(await sampleDirectory(outputPath('original'))));
}

test('refuses our own archive if it is cut off at any byte', async () => {
  const archive = await ourArchive();
  const borders = bordersOf(archive);
  expect(borders.length).toBe(4);
  const random = randomOf(1);
  const lengths = new Set([
    ...borders.flatMap((border) => [border - 1, border, border + 1, border + 5]),
    ...Array.from({ length: 20 }, () => random(archive.length)),
  ]);
  for (const length of lengths) if (length >= 0) await expectRefused(archive.subarray(0, length), anyRefusal);
  const message = expect.stringContaining('seal');
  await expectRefused(archive.subarray(0, borders.at(-1)), { code: 'truncated', message });
  await expectRefused(archive.subarray(0, -1), { code: 'truncated' });
  await extractHere(archive);
});

test('refuses our own archive if any of its bytes is changed', async () => {
  const archive = await ourArchive();
  const start = bordersOf(archive)[2]! + 20;
  const random = randomOf(2);
  const inFrames = new Set(Array.from({ length: 40 }, () => random(archive.length)));
  // All bytes around the data, and some bytes of the data.
  for (const at of [...archive.keys()].filter((at) => at < start || at > archive.length - 80 || inFrames.has(at))) {
    const changed = Buffer.from(archive);
    changed[at]! ^= 1 << random(8);
    await expectRefused(changed, anyRefusal);
  }
});

test('refuses our own archive if a zstd frame is missing, moved or doubled', async () => {
  const archive = await ourArchive();
  const borders = [...bordersOf(archive), archive.length];
  const [empty, mark, content, seal] = borders
    .slice(0, -1)
    .map((border, index) => archive.subarray(border, borders[index + 1])) as [Buffer, Buffer, Buffer, Buffer];
  for (const frames of [
    [mark, content, seal],
    [empty, content, seal],
    [empty, mark, seal],
    [empty, mark, content],
    [mark, empty, content, seal],
    [empty, mark, content, content, seal],
    [empty, mark, content, empty, seal],
    [empty, mark, content, seal, seal],
    [empty, mark, content, seal, empty],
    [empty, mark, mark, content, seal],
  ])
    await expectRefused(Buffer.concat(frames), anyRefusal);
  await expectRefused(Buffer.concat([archive, archive]), { code: 'trailing_bytes' });
  await expectRefused(Buffer.concat([archive, Buffer.from('more')]), { code: 'trailing_bytes' });
});

const entries = [
  { name: 'Default/', type: 'directory' as const },
  { name: 'Default/file', content: 'x'.repeat(3000) },
];

test('refuses a plain tar archive that is cut off, even exactly between two entries', async () => {
  const tar = await tarOf(entries);
  for (let length = 0; length < tar.length; length += 128) {
    const code = length < 512 ? 'not_an_archive' : 'truncated';
    await expectRefused(tar.subarray(0, length), { code });
    await expectRefused(await compress(tar.subarray(0, length)), { code });
  }
  await extractHere(tar);
});

test('refuses a foreign archive whose zstd frame is cut off', async () => {
  const archive = await zstdOf(entries);
  for (const length of archive.keys())
    await expectRefused(archive.subarray(0, length), { code: length < 4 ? 'not_an_archive' : 'truncated' });
});

test('refuses a foreign archive with extra bytes after its end', async () => {
  const [tar, archive] = [await tarOf(entries), await zstdOf(entries)];
  for (const more of ['x', 'x'.repeat(600), '\0\0x']) {
    const longer = Buffer.concat([tar, Buffer.from(more)]);
    await expectRefused(longer, { code: 'trailing_bytes' });
    await expectRefused(await compress(longer), { code: 'trailing_bytes' });
    const code = more.length < 4 ? 'truncated' : 'trailing_bytes';
    await expectRefused(Buffer.concat([archive, Buffer.from(more)]), { code });
  }
  const second = await tarOf([{ name: 'second', content: 'x' }]);
  await expectRefused(Buffer.concat([tar, second]), { code: 'trailing_bytes' });
  await expectRefused(Buffer.concat([archive, await compress(second)]), { code: 'trailing_bytes' });
});

test('refuses a foreign archive if a tar header in it is damaged', async () => {
  const tar = await tarOf(entries);
  tar[512]! ^= 1;
  await expectRefused(tar, { code: 'corrupt' });
  tar[512]! ^= 1;
  tar[0]! ^= 1;
  await expectRefused(tar, { code: 'not_an_archive' });
});

test("refuses a file that isn't an archive", async () => {
  for (const bytes of ['', 'x', 'PK\u0003\u0004', '<html>'.repeat(1000), '\u001f\u008b'.repeat(600)]) {
    await expectRefused(Buffer.from(bytes, 'latin1'), { code: 'not_an_archive' });
    await expectRefused(await compress(Buffer.from(bytes, 'latin1')), { code: 'not_an_archive' });
  }
});

test('leaves an existing target directory unchanged if the archive is damaged', async () => {
  const target = outputPath('target');
  const archive = await zstdOf([{ name: 'new', content: 'new' }]);
  await extractHere(await zstdOf([{ name: 'old', content: 'old' }]));
  const before = await contentOf(target);
  await expectRefused(archive.subarray(0, -1), { code: 'truncated' }, { replace: true });
  expect(await contentOf(target)).toEqual(before);
  await appendFile(`${target}/old`, ' and used');
  await writeFile(`${target}/added`, '');
  await extractHere(archive, { replace: true });
  expect(await readdir(target)).toEqual(['new']);
  expect(await readFile(`${target}/new`, 'utf8')).toBe('new');
});

test('refuses a frame size that is not a number before it reads the content', async () => {
  const tar = await tarOf([{ name: 'file', content: 'content' }]);
  // The first byte says that a number in base 256 follows, but not of which sign.
  tar[124] = 0xc0;
  sumHeader(tar, 0);
  await expectRefused(tar, { code: 'corrupt', message: expect.stringContaining('size') });
});

test('reads zstd frames of any size, and refuses a damaged one only after it delivered those before it', async () => {
  const random = randomOf(3);
  const noise = Buffer.from(Array.from({ length: 140_000 }, () => random(256)));
  const tar = await tarOf([
    { name: 'noise', content: noise },
    { name: 'large', content: Buffer.alloc(5_000_000, noise) },
  ]);
  const frames: Buffer[] = [];
  let start = 0;
  for (const size of [1, 255, 256, 257, 1000, 65_791, 65_792, 4_000_000, Infinity]) {
    frames.push(await compress(tar.subarray(start, start + size)));
    start += size;
  }
  const copy = await extractHere(Buffer.concat(frames));
  expect((await readFile(`${copy}/noise`)).equals(noise)).toBe(true);
  await rm(copy, { recursive: true });
  const damaged = await compress(Buffer.from('text that repeats itself, '.repeat(100)));
  damaged.fill(0xff, 10);
  await expectRefused(Buffer.concat([...frames, damaged]), { code: 'corrupt' });
});
