import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ByteReader } from '../../src/archive/byte-reader.ts';
import { framePieces } from '../../src/archive/frames.ts';
import { pack } from '../../src/archive/index.ts';
import { LargeFrame } from '../../src/archive/large-frame.ts';
import { outputPath } from '../support/runs/output-path.ts';
import { contentOf, expectRefused, extractHere, noZstd, sampleBytes, sampleDirectory, shell } from './archives.ts';
import { expect, test } from '../support/worker.ts';

test.skip(noZstd !== false, String(noZstd));

test('the zstd and tar commands read our archives, compressed or not', async () => {
  const original = await sampleDirectory(outputPath('original'));
  await writeFile(path.join(original, 'large'), sampleBytes(9_000_000));
  await pipeline(pack(original), createWriteStream(outputPath('archive.tar.zst')));
  await pipeline(pack(original, { compression: 'none' }), createWriteStream(outputPath('archive.tar')));
  await shell('zstd -q --test archive.tar.zst', outputPath());
  for (const command of ['zstd -dc ../archive.tar.zst | tar x', 'tar xf ../archive.tar.zst', 'tar xf ../archive.tar']) {
    const copy = outputPath('copy');
    await mkdir(copy);
    await shell(command, copy);
    expect(await contentOf(copy)).toEqual(await contentOf(original));
    await rm(copy, { recursive: true });
  }
});

// A skippable frame of 4 bytes, one of 300 kB, and an empty frame.
const skippable = "printf '\\120\\052\\115\\030\\004\\000\\000\\000skip'";
const longSkippable = "printf '\\137\\052\\115\\030\\340\\223\\004\\000'; head -c 300000 /dev/zero";
const empty = 'zstd -q < /dev/null';

const tar = 'tar c -C original .';
const inFrames = (bytes: number) =>
  `${tar} > tar && split -b ${bytes} tar part. && for part in part.*; do zstd -q -c $part; done`;
const much = `for i in $(seq 30); do cat original/large; done > large; mv large original; ${tar}`;

for (const [what, command] of Object.entries({
  'at level 1': `${tar} | zstd -q -1`,
  'at level 19': `${tar} | zstd -q -19`,
  'with --ultra -22 @long': `${tar} | zstd -q --ultra -22`,
  'with --long=27': `${tar} | zstd -q --long=27`,
  'with all threads': `${tar} | zstd -q -T0`,
  'without a checksum': `${tar} | zstd -q --no-check`,
  'with its content size': `${tar} > tar && zstd -q -c tar`,
  'in several frames': inFrames(200_000),
  'in small frames of noise': `rm -r original/*; head -c 5000 /dev/urandom > original/noise; ${inFrames(700)}`,
  'with skippable and empty frames': `${skippable}; ${empty}; ${longSkippable}; ${tar} | zstd -q; ${empty}; ${skippable}`,
  'not at all': tar,
  // ustar has no room for the longest names.
  'as ustar': `rm -r 'original/Default/Local Storage'; ${tar} --format=ustar | zstd -q`,
  'as POSIX tar': `${tar} --format=posix | zstd -q`,
  'as one frame with 90 MB in it @long': `${much} | zstd -q`,
  'as one frame with 90 MB in it, without a checksum @long': `${much} | zstd -q --no-check`,
  'as one wide frame with 90 MB in it @long': `${much} | zstd -q --long=27`,
})) {
  test(`reads an archive that the tar and zstd commands compressed ${what}`, async () => {
    const original = await sampleDirectory(outputPath('original'));
    // Less would compress 90 MB to less than the limit of the ratio allows.
    await writeFile(path.join(original, 'large'), sampleBytes(what.includes('90 MB') ? 3_000_000 : 600_000));
    await shell(`{ ${command}; } > archive`, outputPath());
    const copy = await extractHere(createReadStream(outputPath('archive')));
    expect(await contentOf(copy)).toEqual(await contentOf(original));
  });
}

const refusal = (size: number) => ({
  code: 'unsupported',
  message: expect.stringMatching(`a zstd window of ${size} MiB, .* --long=27`),
});
const wrongChecksum = { code: 'corrupt', message: expect.stringContaining('checksum') };

test('refuses an archive that needs a zstd window of more than 128 MiB, and says why', async () => {
  const archive = await shell('head -c 1000 /dev/zero | zstd -q --long=28', outputPath());
  await expectRefused(archive, refusal(256));
  // The largest one that is read, and an eighth more.
  archive[5] = (17 << 3) | 1;
  await expectRefused(archive, refusal(144));
});

test('refuses a zstd frame of an unknown format', async () => {
  const archive = await shell('zstd -q < /dev/null', outputPath());
  archive[4]! |= 0x08;
  await expectRefused(archive, { code: 'unsupported', message: expect.stringContaining('unknown format') });
});

test('verifies the checksum of a zstd frame of any length when it decompresses it block by block', async () => {
  for (const length of [12, 31, 32, 33, 36, 39, 100, 10_004, 300_001]) {
    const content = randomBytes(length);
    const frame = await shell('zstd -q --check', outputPath(), content);
    expect(Buffer.concat(await inBlocks(frame)).equals(content)).toBe(true);
    frame[frame.length - 1]! ^= 1;
    await expect(inBlocks(frame)).rejects.toMatchObject(wrongChecksum);
  }
});

async function inBlocks(frame: Buffer): Promise<Uint8Array[]> {
  const content: Uint8Array[] = [];
  let large: LargeFrame | undefined;
  for await (const piece of framePieces(new ByteReader(Readable.from([frame]), undefined), () => -1)) {
    if (piece.kind !== 'part') continue;
    if (piece.header) large = await LargeFrame.of(piece.header);
    content.push(...(piece.checksum ? large!.end(piece.checksum) : large!.add(piece.bytes)));
  }
  return content;
}

test('refuses an archive that was compressed with a zstd dictionary', async () => {
  const samples =
    'for i in $(seq 200); do echo "sample number $i of some text that repeats itself" > sample$i; done; zstd -q --train sample* -o dictionary';
  const archive = await shell(`{ ${samples}; } >&2 && zstd -q -c -D dictionary sample1`, outputPath());
  await expectRefused(archive, { code: 'unsupported', message: expect.stringContaining('dictionary') });
});

test('checks the checksum of a large zstd frame @long', async () => {
  await mkdir(outputPath('original'));
  await writeFile(outputPath('original/large'), Buffer.alloc(70_000_000, sampleBytes(1_000_000)));
  const archive = await shell('tar c -C original . | zstd -q', outputPath());
  const copy = await extractHere(archive);
  expect((await stat(path.join(copy, 'large'))).size).toBe(70_000_000);
  await rm(copy, { recursive: true });
  archive[archive.length - 1]! ^= 1;
  await expectRefused(archive, wrongChecksum);
});

test('reads an archive from a source that delivers one byte at a time', async () => {
  const original = await sampleDirectory(outputPath('original'));
  const archive = await shell('tar c -C original . | zstd -q', outputPath());
  const bytes = Readable.from([...archive].map((byte) => Buffer.from([byte])));
  expect(await contentOf(await extractHere(bytes))).toEqual(await contentOf(original));
});
