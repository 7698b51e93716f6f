import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { getEventListeners } from 'node:events';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { serve } from '../support/http/serve.ts';
import { archivedStorageOrigins, extract, pack, type Progress } from '../../src/archive/index.ts';
import { mountSmallDisk } from '../support/processes/small-disk.ts';
import { outputPath } from '../support/runs/output-path.ts';
import { contentOf, extractHere, sampleBytes, sampleDirectory, tarOf, zstdOf } from './archives.ts';
import { expect, test } from '../support/worker.ts';

test.describe('the target', () => {
  const archive = zstdOf([{ name: 'new', content: 'new' }]);

  test('creates a missing target or fills an empty one, readable by its owner only', async () => {
    const target = await extractHere(await archive);
    expect(await readdir(target)).toEqual(['new']);
    expect((await stat(target)).mode & 0o777).toBe(0o700);
    await rm(path.join(target, 'new'));
    await extractHere(await archive);
    expect(await readdir(target)).toEqual(['new']);
    expect(await readdir(outputPath())).toEqual(['target']);
  });

  test("refuses a target that isn't empty before reading the archive, or replaces it on demand", async () => {
    const target = outputPath('target');
    await mkdir(path.join(target, 'old'), { recursive: true });
    await writeFile(path.join(target, 'old', 'file'), 'old');
    const endless = new PassThrough();
    await expect(extract(endless, target)).rejects.toMatchObject({
      code: 'target_in_use',
      message: expect.stringMatching(/replace: true/),
    });
    expect(endless.destroyed).toBe(true);
    expect(await readdir(target)).toEqual(['old']);
    await extractHere(await archive, { replace: true });
    expect(await readdir(target)).toEqual(['new']);
    expect(await readdir(outputPath())).toEqual(['target']);
  });

  test('extracts into a target that is a symbolic link to a directory', async () => {
    await mkdir(outputPath('real'));
    await symlink('real', outputPath('target'));
    await extractHere(await archive);
    expect(await readdir(outputPath('real'))).toEqual(['new']);
    expect((await readdir(outputPath())).sort()).toEqual(['real', 'target']);
  });

  test("refuses a target that is a file, and one whose parent doesn't exist", async () => {
    await writeFile(outputPath('target'), 'a file');
    await expect(extractHere(await archive)).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(await readFile(outputPath('target'), 'utf8')).toBe('a file');
    await expect(extract(Readable.from([await archive]), outputPath('nowhere', 'target'))).rejects.toMatchObject({
      code: 'ENOENT',
    });
    expect(await readdir(outputPath())).toEqual(['target']);
  });

  test('refuses a target that another process fills during the extraction', async () => {
    const target = outputPath('target');
    const source = new PassThrough();
    const extracting = extract(source, target);
    const bytes = await archive;
    source.write(bytes.subarray(0, 10));
    await expect.poll(async () => (await readdir(outputPath())).length).toBe(1);
    await mkdir(target);
    await writeFile(path.join(target, 'mine'), 'mine');
    source.end(bytes.subarray(10));
    await expect(extracting).rejects.toMatchObject({ code: 'target_in_use' });
    expect(await readdir(target)).toEqual(['mine']);
    expect(await readdir(outputPath())).toEqual(['target']);
  });
});

test.describe('stopping', () => {
  test('an abort stops an extraction at once while its source is silent, and leaves no files', async () => {
    const original = await sampleDirectory(outputPath('original'));
    await writeFile(path.join(original, 'large'), sampleBytes(20_000_000));
    const archive = await buffer(pack(original));
    await rm(original, { recursive: true });
    for (const [how, signal] of [
      ['abort', (abort: AbortController) => abort.abort(new Error('enough'))],
      ['error', (_: AbortController, source: PassThrough) => source.destroy(new Error('enough'))],
    ] as const) {
      await test.step(how, async () => {
        const [source, abort] = [new PassThrough(), new AbortController()];
        let entries = 0;
        const extracting = extractHere(source, {
          signal: abort.signal,
          onProgress: (progress) => (entries = progress.entries),
        });
        source.write(archive.subarray(0, -100));
        await expect.poll(async () => [entries > 0, (await readdir(outputPath())).length]).toEqual([true, 1]);
        signal(abort, source);
        await expect(extracting).rejects.toThrow('enough');
        expect(source.destroyed).toBe(true);
        expect(await readdir(outputPath())).toEqual([]);
      });
    }
  });

  test('an abort at any time leaves either no extracted files or the complete directory @long', async () => {
    const original = await sampleDirectory(outputPath('original'));
    for (let index = 0; index < 100; index += 1)
      await writeFile(path.join(original, `file-${index}`), sampleBytes(20_000, index));
    await writeFile(path.join(original, 'large'), sampleBytes(3_000_000));
    const archive = await buffer(pack(original));
    const content = await contentOf(original);
    await rm(original, { recursive: true });
    for (let after = 0; after < 30; after += 1) {
      const abort = new AbortController();
      let ticks = 0;
      const ticking = setInterval(() => (ticks += 1) === after && abort.abort(new Error('enough')), 1);
      const done = await extractHere(archive, { signal: abort.signal, replace: true }).catch((error: Error) => error);
      clearInterval(ticking);
      if (done instanceof Error) {
        expect(done.message).toBe('enough');
        expect(await readdir(outputPath())).toEqual([]);
      } else {
        expect(await contentOf(done)).toEqual(content);
        await rm(done, { recursive: true });
        expect(await readdir(outputPath())).toEqual([]);
      }
    }
  });

  test('an abort after the last write removes the extracted files and the listener on the signal', async () => {
    const abort = new AbortController();
    // The first one comes with the first entry, the others seldom, and the last one when all is written.
    const onProgress = ({ bytes }: Progress) => bytes > 0 && abort.abort(new Error('enough'));
    const archive = await zstdOf([{ name: 'file', content: 'new' }]);
    await expect(extractHere(archive, { signal: abort.signal, onProgress })).rejects.toThrow('enough');
    expect(await readdir(outputPath())).toEqual([]);
    expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
  });

  test('closes the source stream when it refuses an archive', async () => {
    let isOpen: boolean;
    async function* endless() {
      try {
        for (;;) yield Buffer.from('no archive');
      } finally {
        isOpen = false;
      }
    }
    for (const read of [
      () => extractHere(endless()),
      () => archivedStorageOrigins(endless(), AbortSignal.timeout(10_000)),
    ]) {
      isOpen = true;
      await expect(read()).rejects.toMatchObject({ code: 'not_an_archive' });
      expect(isOpen).toBe(false);
    }
  });

  test('a full disk at any point ends the extraction and leaves no files', async () => {
    const disk = outputPath('disk');
    await mkdir(disk, { recursive: true });
    using _ = mountSmallDisk(disk, '1m');
    for (const length of [2_000_000, 30_000_000]) {
      const archive = await tarOf([{ name: 'large', content: Buffer.alloc(length, 1) }]);
      let read = 0;
      async function* source() {
        for (; read < archive.length; read += 65_536) yield archive.subarray(read, read + 65_536);
      }
      await expect(extract(source(), path.join(disk, 'target'))).rejects.toMatchObject({ code: 'ENOSPC' });
      expect(read).toBeLessThan(20_000_000);
      expect(await readdir(disk)).toEqual([]);
    }
  });

  test('reads nothing from the source if the signal is already aborted', async () => {
    const source = new PassThrough();
    await expect(extractHere(source, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    expect(source.destroyed).toBe(true);
    expect(await readdir(outputPath())).toEqual([]);
  });

  test('throws a typed error if the archive file is missing', async () => {
    const source = createReadStream(outputPath('nowhere'));
    await expect(extract(source, outputPath('target'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await readdir(outputPath())).toEqual([]);
  });

  test('ends the extraction if the progress listener throws', async () => {
    const abort = AbortSignal.abort(new Error('enough'));
    await expect(
      extractHere(await zstdOf([{ name: 'file' }]), { onProgress: () => abort.throwIfAborted() }),
    ).rejects.toThrow('enough');
    expect(await readdir(outputPath())).toEqual([]);
  });
});

test('extracts an archive while it is still downloading, and throws if the server breaks off', async () => {
  const original = await sampleDirectory(outputPath('original'));
  await writeFile(path.join(original, 'large'), sampleBytes(5_000_000));
  await using server = await serve((request, response) => {
    const archive = pack(original);
    if (request.url === '/whole') {
      archive.pipe(response);
    } else {
      archive.once('data', (chunk: Buffer) => {
        archive.destroy();
        response.write(chunk, () => response.destroy());
      });
    }
  });
  const broken = await fetch(`${server.url}/broken`);
  await expect(extractHere(broken.body!)).rejects.toThrow('terminated');
  expect(await readdir(outputPath())).toEqual(['original']);
  const whole = await fetch(`${server.url}/whole`);
  expect(await contentOf(await extractHere(whole.body!))).toEqual(await contentOf(original));
});

test('extracting reports the progress of entries and bytes at intervals, and the totals at the end', async () => {
  const entries = Array.from({ length: 300 }, (_, index) => ({ name: `file-${index}`, content: 'x'.repeat(1000) }));
  const archive = await zstdOf([
    ...entries,
    { name: 'directory', type: 'directory' },
    { name: 'large', content: sampleBytes(5_000_000) },
  ]);
  const reports: Progress[] = [];
  const start = performance.now();
  await extractHere(archive, { onProgress: (progress) => reports.push(progress) });
  expect(reports.length).toBeLessThanOrEqual((performance.now() - start) / 100 + 2);
  expect(reports.at(-1)).toEqual({ entries: 302, bytes: 5_300_000 });
});

test('applies the umask to the modes of extracted files', async () => {
  const archive = await zstdOf([
    { name: 'directory', type: 'directory', mode: 0o777 },
    { name: 'file', content: 'x', mode: 0o666 },
  ]);
  const umask = process.umask(0o027);
  try {
    const copy = await extractHere(archive);
    expect((await stat(path.join(copy, 'directory'))).mode & 0o777).toBe(0o750);
    expect((await stat(path.join(copy, 'file'))).mode & 0o777).toBe(0o640);
  } finally {
    process.umask(umask);
  }
});

test('extracts only the entries that match a filter, but checks the whole archive', async () => {
  const entries = [
    { name: './Default/', type: 'directory' as const },
    { name: './Default/file', content: 'x' },
    { name: './Default/other', content: 'y' },
  ];
  const only = /^Default\/file$/;
  const copy = await extractHere(await zstdOf(entries), { only });
  expect(await readdir(copy, { recursive: true })).toEqual(['Default', 'Default/file']);
  const options = { only, replace: true };
  const truncated = (await zstdOf(entries)).subarray(0, -1);
  await expect(extractHere(truncated, options)).rejects.toMatchObject({ code: 'truncated' });
  const unsafe = await zstdOf([{ name: '../file' }]);
  await expect(extractHere(unsafe, options)).rejects.toMatchObject({ code: 'unsafe_name', entry: '../file' });
});
