import assert from 'node:assert/strict';
import { lstat, mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { compress } from '@mongodb-js/zstd';
import { ByteReader } from '../../src/archive/byte-reader.ts';
import { framePieces } from '../../src/archive/frames.ts';
import { ArchiveError, extract, pack } from '../../src/archive/index.ts';
import { LargeFrame } from '../../src/archive/large-frame.ts';
import { randomOf } from '../support/processes/random.ts';
import { outputPath } from '../support/runs/output-path.ts';
import { noZstd, sampleBytes, sampleDirectory, shell, sumHeader, tarOf } from './archives.ts';
import { isLong } from '../support/processes/long-form.ts';
import { expect, test } from '../support/worker.ts';

const mutations = isLong ? 20_000 : 75;
test.setTimeout(isLong ? 3_600_000 : 60_000);

type Random = (below: number) => number;

const nastyNames = [
  '..',
  '../outside',
  '/tmp/outside',
  'a/../../outside',
  '.',
  '',
  'link',
  'link/through',
  'LINK',
  'file',
  'deep/link/x',
  '\u00e9',
  'x'.repeat(99),
];
const nastyTypes = [...'0123456789xgLKSDMNV'.split(''), '\0', '\xff'];
const nastyNumbers = [
  '00000000000 ',
  '77777777777 ',
  '00000000001 ',
  '-0000000001 ',
  '99999999999 ',
  '\x80\0\0\0\0\0\0\0\0\0\x10\0',
  '\xff'.repeat(12),
  '\0'.repeat(12),
];

/** Changes some headers of a tar so that their checksums are right nevertheless. */
function mutateHeaders(tar: Buffer, random: Random): Buffer {
  const changed = Buffer.from(tar);
  const headers = Array.from({ length: tar.length / 512 }, (_, block) => block * 512).filter(
    (at) => tar.toString('latin1', at + 257, at + 262) === 'ustar',
  );
  for (let count = 0; count <= random(3); count += 1) {
    const at = headers[random(headers.length)]!;
    const set = (offset: number, length: number, choices: string[]) => {
      changed.fill(0, at + offset, at + offset + length);
      changed.write(choices[random(choices.length)]!, at + offset, length, 'latin1');
    };
    const change = [
      () => set(0, 100, nastyNames),
      () => set(156, 1, nastyTypes),
      () => set(157, 100, nastyNames),
      () => set(124, 12, nastyNumbers),
      () => set(136, 12, nastyNumbers),
      () => set(100, 8, ['0007777 ', '0000000 ', '7777777 ', '\xff\xff\xff\xff\xff\xff\xff\xff']),
      () => set(345, 155, nastyNames),
      () => changed.fill(random(256), at + 512 + random(40), at + 512 + random(200)),
    ];
    change[random(change.length)]!();
    sumHeader(changed, at);
  }
  return changed;
}

/** Changes, leaves out, repeats or adds bytes anywhere. */
function mutateBytes(bytes: Buffer, other: Buffer, random: Random): Buffer {
  const [from, to] = [random(bytes.length + 1), random(bytes.length + 1)].sort((a, b) => a - b) as [number, number];
  const short = Math.min(to, from + random(64));
  const flip = () => {
    const changed = Buffer.from(bytes);
    for (let count = 0; count <= random(4); count += 1) changed[random(changed.length)]! ^= 1 << random(8);
    return changed;
  };
  const choices = [
    flip,
    flip,
    () => Buffer.concat([bytes.subarray(0, from), Buffer.alloc(short - from, random(256)), bytes.subarray(short)]),
    () => Buffer.concat([bytes.subarray(0, from), bytes.subarray(short)]),
    () => Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]),
    () => Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]),
    () => bytes.subarray(0, to),
    () => Buffer.concat([bytes.subarray(0, to), other.subarray(Math.min(from, other.length))]),
  ];
  return choices[random(choices.length)]!();
}

/** Gives bytes in chunks of random lengths. */
function* inChunks(bytes: Buffer, random: Random): Generator<Buffer> {
  for (let at = 0; at < bytes.length;) {
    const length = 1 + random(random(2) === 0 ? 5000 : bytes.length);
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

/** Unsafe entries: links out of the directory, files of other kinds, set-user-id modes. */
async function unsafeIn(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(root, { recursive: true })) {
    const file = path.join(root, name);
    const status = await lstat(file);
    if ((status.mode & 0o6000) !== 0 && !status.isSymbolicLink())
      found.push(`${name} has mode ${status.mode.toString(8)}`);
    if (status.isFile() || status.isDirectory()) continue;
    if (!status.isSymbolicLink()) found.push(`${name} is no file`);
    else if (!path.resolve(path.dirname(file), await readlink(file)).startsWith(root)) found.push(`${name} leads out`);
  }
  return found;
}

test(`refuses ${mutations} damaged archives, or extracts them without writing outside the target`, async () => {
  const output = outputPath('output');
  const original = await sampleDirectory(outputPath('original'));
  await mkdir(output);
  await writeFile(path.join(output, 'outside'), 'untouched');
  const tars = [
    await buffer(pack(original, { compression: 'none' })),
    await tarOf([
      { name: './', type: 'directory' },
      { name: 'file', content: 'content' },
      { name: 'deep/deeper/file', content: sampleBytes(2000) },
      { name: 'link', type: 'symlink', linkname: 'deep/deeper' },
      { name: 'hard', type: 'link', linkname: 'file' },
      { name: `${'long'.repeat(30)}/${'name'.repeat(30)}`, content: 'x' },
      { name: 'unicode ü', type: 'symlink', linkname: `deep/${'y'.repeat(120)}` },
    ]),
  ];
  const archives = [...tars, await buffer(pack(original)), await compress(tars[0]!), await compress(tars[1]!)];
  archives.push(Buffer.concat([await compress(tars[1]!.subarray(0, 3000)), await compress(tars[1]!.subarray(3000))]));
  let extracted = 0;
  // Asserted without Playwright's expect, which keeps each call as a step: the more there are, the longer one takes.
  for (let seed = 1; seed <= mutations; seed += 1) {
    const random = randomOf(seed);
    let archive: Buffer;
    if (random(2) === 0) {
      archive = mutateHeaders(tars[random(tars.length)]!, random);
      if (random(2) === 0) archive = await compress(archive);
    } else {
      archive = mutateBytes(archives[random(archives.length)]!, archives[random(archives.length)]!, random);
    }
    const target = path.join(output, 'target');
    const outcome = await extract(Readable.from(inChunks(archive, random)), target, {
      limits: { bytes: 10_000_000 },
    }).catch((error: unknown) => error);
    const label = `mutation ${seed}: ${String(outcome)}`;
    if (outcome === undefined) {
      assert.deepEqual(await unsafeIn(target), [], label);
      await rm(target, { recursive: true });
      extracted += 1;
    } else {
      assert.ok(outcome instanceof ArchiveError, label);
    }
    assert.deepEqual(await readdir(output), ['outside'], label);
  }
  expect(await readFile(path.join(output, 'outside'), 'utf8')).toBe('untouched');
  expect((await readdir(outputPath())).sort()).toEqual(['original', 'output']);
  // Else the mutations would be too coarse to say much.
  expect(extracted).toBeGreaterThan(mutations / 50);
});

test(`refuses ${mutations} damaged large frames, or returns as many bytes as their headers say, in limited time`, async () => {
  const content = sampleBytes(140_000);
  const frames = [await compress(content), await compress(Buffer.alloc(140_000, 'text that repeats itself; '))];
  if (noZstd === false) frames.push(await shell('zstd -q -19', path.dirname(outputPath()), content));
  let slowest = 0;
  for (let seed = 1; seed <= mutations; seed += 1) {
    const random = randomOf(seed);
    const frame = mutateBytes(frames[random(frames.length)]!, frames[random(frames.length)]!, random);
    const start = performance.now();
    let length = 0;
    let blocks = 0;
    try {
      let large: LargeFrame | undefined;
      for await (const piece of framePieces(new ByteReader(Readable.from([frame]), undefined), () => 0)) {
        if (piece.kind !== 'part') continue;
        blocks += 1;
        if (piece.header) large = await LargeFrame.of(piece.header);
        for (const chunk of piece.checksum ? large!.end(piece.checksum) : large!.add(piece.bytes))
          length += chunk.length;
      }
    } catch (error) {
      assert.ok(error instanceof ArchiveError, `mutation ${seed}: ${String(error)}`);
    }
    assert.ok(length <= blocks * 128 * 1024, `mutation ${seed}: ${length} bytes in ${blocks} pieces`);
    slowest = Math.max(slowest, performance.now() - start);
  }
  expect(slowest).toBeLessThan(5000);
});
