import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ByteReader } from '../../src/archive/byte-reader.ts';
import { tarIn } from '../../src/archive/tar-in.ts';
import { outputPath } from '../support/runs/output-path.ts';
import { contentOf, noZstd, sampleBytes, shell } from './archives.ts';
import { isLong, longOnly } from '../support/processes/long-form.ts';
import { expect, test } from '../support/worker.ts';

const run = promisify(execFile);
const built = pathToFileURL(path.resolve('build/src/archive/index.js')).href;
const megabytes = 200;

/** Creates a directory with this many files of 10 MB. */
async function fill(files: number): Promise<string> {
  const directory = outputPath('original');
  await mkdir(directory, { recursive: true });
  const sample = sampleBytes(5_000_000);
  for (let index = 0; index < files; index += 1)
    await writeFile(path.join(directory, `large-${index}`), Buffer.concat([sample.subarray(index), sample]));
  return directory;
}

/**
 * Runs a module in a process of its own that has the archive's functions, and returns the most memory that it took, in
 * MB.
 */
async function memoryOf(code: string): Promise<number> {
  const imports = `
    import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
    import { pipeline } from 'node:stream/promises';
    import { pack, extract } from '${built}';`;
  // Not `resourceUsage()`: its maximum includes the memory of this process.
  const report = `process.stdout.write(/VmHWM:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1])`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', `${imports}${code};${report}`]);
  return Number(stdout) / 1000;
}

test(`packs and extracts ${megabytes} MB with less than 200 MB of memory`, async () => {
  // `npm run bench -- profile` has the bars: beside other work garbage is collected late.
  test.skip(!isLong, longOnly);
  const original = await fill(megabytes / 10 - 1);
  const sample = sampleBytes(20_000);
  for (let index = 0; index < 1000; index += 1)
    await writeFile(path.join(original, `small-${index}`), sample.subarray(index, index + 10_000));
  const [archive, copy] = [outputPath('archive'), outputPath('copy')];
  expect(await memoryOf(`await pipeline(pack('${original}'), createWriteStream('${archive}'))`)).toBeLessThan(200);
  expect((await stat(archive)).size).toBeGreaterThan(20_000_000);
  expect(await memoryOf(`await extract(createReadStream('${archive}'), '${copy}')`)).toBeLessThan(200);
  expect(await readdir(copy)).toHaveLength(1000 + megabytes / 10 - 1);
  for (const directory of [original, copy]) await rm(directory, { recursive: true });
});

const empty = '28b52ffd2000010000';
for (const [kind, frame] of Object.entries({ empty, skippable: '502a4d1800000000' })) {
  test(`reads only a few ${kind} frames of an archive ahead of the extraction`, async () => {
    const archive = Buffer.from(empty + frame.repeat(10_000), 'hex');
    const reader = new ByteReader(Readable.from([archive]), undefined);
    const tar = tarIn(reader);
    await tar.next();
    expect(reader.position).toBeLessThan(archive.length / 10);
    await tar.return();
    reader.close();
  });
}

test('reads a single frame of 300 MB, made by tar and zstd, with less than 200 MB of memory', async () => {
  test.skip(noZstd !== false, String(noZstd));
  test.skip(!isLong, longOnly);
  const original = await fill(30);
  const [archive, copy] = [outputPath('archive'), outputPath('copy')];
  await shell('tar c -C original . | zstd -q > archive', outputPath());
  const frames = await shell('zstd --list --verbose archive', outputPath());
  expect(frames.toString()).toMatch(/Frames: 1\n/);
  expect(await memoryOf(`await extract(createReadStream('${archive}'), '${copy}')`)).toBeLessThan(200);
  expect(await contentOf(copy)).toEqual(await contentOf(original));
  for (const directory of [original, copy]) await rm(directory, { recursive: true });
});
