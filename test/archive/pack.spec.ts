import { execFileSync } from 'node:child_process';
import { appendFile, chmod, mkdir, open, readdir, rm } from 'node:fs/promises';
import { stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack, type Progress } from '../../src/archive/index.ts';
import { openFilesIn } from '../support/processes/open-files.ts';
import { outputPath } from '../support/runs/output-path.ts';
import { contentOf, extractHere, sampleBytes, sampleDirectory } from './archives.ts';
import { expect, test } from '../support/worker.ts';

async function namesIn(archive: AsyncIterable<Uint8Array>): Promise<string[]> {
  return (await readdir(await extractHere(archive), { recursive: true })).sort();
}

/** Creates a directory with these files. */
async function fill(files: Record<string, string | Buffer>): Promise<string> {
  const directory = outputPath('original');
  await mkdir(directory);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.join(directory, path.dirname(name)), { recursive: true });
    await writeFile(path.join(directory, name), content);
  }
  return directory;
}

/** Files that contain their names. */
function named(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]));
}

for (const compression of ['zstd', 'none'] as const) {
  test(`keeps contents, modes, times, links and unusual names of files (compression ${compression})`, async () => {
    const original = await sampleDirectory(outputPath('original'));
    const copy = await extractHere(pack(original, { compression }));
    expect(await contentOf(copy)).toEqual(await contentOf(original));
  });
}

test("replaces file times that tar can't store by the nearest possible ones", async () => {
  const original = await fill(named('before', 'after'));
  await utimes(path.join(original, 'before'), new Date('1960-01-01'), new Date('1960-01-01'));
  await utimes(path.join(original, 'after'), new Date('2060-01-01'), new Date('2060-01-01'));
  const copy = await extractHere(pack(original));
  const times = await Promise.all(
    ['before', 'after'].map(async (name) => (await stat(path.join(copy, name))).mtimeMs / 1000),
  );
  expect(times).toEqual([0, 2 ** 31 - 1]);
});

test('packs a directory and its copy to the same bytes', async () => {
  const original = await sampleDirectory(outputPath('original'));
  const archive = await buffer(pack(original));
  expect(await buffer(pack(original))).toEqual(archive);
  expect(await buffer(pack(await extractHere(archive)))).toEqual(archive);
});

test('packs an empty directory', async () => {
  expect(await namesIn(pack(await fill({})))).toEqual([]);
});

test('packs files with sizes around each block and buffer size correctly', async () => {
  const sizes = [1, 511, 512, 513, 256 * 1024, 256 * 1024 + 1, 1024 * 1024, 2 * 1024 * 1024 + 1, 9_000_000];
  const original = await fill(Object.fromEntries(sizes.map((size) => [String(size), sampleBytes(size, size)])));
  expect(await contentOf(await extractHere(pack(original)))).toEqual(await contentOf(original));
});

test.describe('exclusions', () => {
  test('leaves lock files and crash reports of Chromium out, but only at their usual paths', async () => {
    const kept = [
      'Crash Reports.txt',
      'Default/Crashpad',
      'Default/LOCK',
      'Default/SingletonLock',
      'Default/lockfile',
      'Local State',
    ];
    const leftOut = [
      'lockfile',
      'DevToolsActivePort',
      'Crashpad/reports/1',
      'Crash Reports/1',
      'CrashpadMetrics-active.pma',
      'Default/1.dmp',
    ];
    const original = await fill(named(...kept, ...leftOut));
    for (const name of ['SingletonLock', 'SingletonSocket', 'SingletonCookie'])
      await symlink('/nowhere/else', path.join(original, name));
    expect(await namesIn(pack(original))).toEqual(['Default', ...kept].sort());
  });

  test('leaves sockets and FIFOs out', async () => {
    const original = await fill(named('file'));
    execFileSync('mkfifo', ['fifo'], { cwd: original });
    // A socket's path must be short.
    const directory = process.cwd();
    const server = createServer();
    try {
      process.chdir(original);
      server.listen('socket');
    } finally {
      process.chdir(directory);
    }
    await once(server, 'listening');
    expect(await readdir(original)).toContain('socket');
    expect(await namesIn(pack(original))).toEqual(['file']);
    server.close();
  });

  test('leaves caches out on demand, but keeps the data of sites', async () => {
    const kept = [
      'Default/Cache.db',
      'Default/Extensions/id/1.0/Cache/file',
      'Default/Service Worker/CacheStorage/origin/file',
      'Default/Service Worker/ScriptCache/file',
      'Default/Storage/ext/id/def/Cookies',
      'Profile 1/IndexedDB/GPUCache/file',
    ];
    const caches = [
      'Default/Cache/Cache_Data/file',
      'Default/Code Cache/js/file',
      'Default/GPUCache/file',
      'Default/DawnGraphiteCache/file',
      'Default/DawnWebGPUCache/file',
      'Default/Shared Dictionary/db',
      'Default/Storage/ext/id/def/GPUCache/file',
      'Profile 1/Cache/file',
      'BrowserMetrics/file.pma',
      'GPUPersistentCache/file',
      'GrShaderCache/file',
      'GraphiteDawnCache/file',
      'ShaderCache/file',
      'component_crx_cache/file',
      'extensions_crx_cache/file',
    ];
    const original = await fill(named(...kept, ...caches));
    const files = async (withoutCaches: boolean) => {
      const names = await namesIn(pack(original, { withoutCaches }));
      await rm(outputPath('target'), { recursive: true });
      return names.filter((name) => [...kept, ...caches].includes(name));
    };
    expect(await files(false)).toEqual([...kept, ...caches].sort());
    expect(await files(true)).toEqual(kept);
  });
});

test.describe('a directory in use', () => {
  for (const compression of ['zstd', 'none'] as const) {
    test(`leaves out files that vanish during packing (compression ${compression})`, async () => {
      const copy = await changedWhilePacking(compression, (directory) =>
        rm(path.join(directory, 'z-directory'), { recursive: true }),
      );
      const names = await readdir(copy, { recursive: true });
      expect(names.filter((name) => name.startsWith('b-'))).toHaveLength(40);
      expect(names.filter((name) => name.startsWith('z-directory/'))).toEqual([]);
    });
  }

  test('leaves out entries that change type during packing: follows no link, waits for no FIFO', async () => {
    const secret = outputPath('secret');
    const copy = await changedWhilePacking('none', async (directory) => {
      await writeFile(secret, 'secret');
      const replace = async (name: string, by: (file: string) => unknown) => {
        await rm(path.join(directory, name), { recursive: true });
        await by(path.join(directory, name));
      };
      // This one has been looked at, and is read when its turn has come.
      await replace('a-large', mkdir);
      await replace('b-7', (file) => symlink(secret, file));
      await replace('b-8', (file) => execFileSync('mkfifo', [file]));
      await replace('b-9', mkdir);
      await replace('y-link', (file) => writeFile(file, 'no link'));
      await replace('z-directory', (file) => writeFile(file, 'no directory'));
    });
    const names = await readdir(copy, { recursive: true });
    expect(names.filter((name) => !name.startsWith('b-'))).toEqual(['a-first']);
    expect(names.filter((name) => /^b-[789]$/.test(name))).toEqual([]);
    expect(names).toHaveLength(38);
  });

  test('packs a growing file up to its first size, pads a shrinking one with zeros, and packs the others unchanged', async () => {
    const large = sampleBytes(12_000_000);
    const original = await fill({ a: large, b: 'after' });
    for (const [change, expected] of [
      [(file: string) => appendFile(file, 'more'), large],
      [
        (file: string) => truncate(file, 100),
        Buffer.concat([large.subarray(0, 100), Buffer.alloc(large.length - 100)]),
      ],
    ] as const) {
      await rm(outputPath('target'), { recursive: true, force: true });
      await writeFile(path.join(original, 'a'), large);
      const chunks: Buffer[] = [];
      for await (const chunk of pack(original, { compression: 'none' })) {
        if (chunks.length === 0) await change(path.join(original, 'a'));
        chunks.push(chunk as Buffer);
      }
      const tar = Buffer.concat(chunks);
      const copy = await extractHere(tar);
      const content = await contentOf(copy);
      expect(Object.keys(content)).toEqual(['a', 'b']);
      expect(content['b']).toContain('"after"');
      expect(tar.length).toBe(512 + Math.ceil(large.length / 512) * 512 + 1024 + 1024);
      // The part read before the change stays.
      const packed = tar.subarray(512, 512 + large.length);
      expect(packed.subarray(0, 100)).toEqual(large.subarray(0, 100));
      expect(packed.subarray(-100)).toEqual(expected.subarray(-100));
    }
  });

  test('packs a file that changes all the time, and all files after it', async () => {
    const original = await fill({ a: sampleBytes(3_000_000), b: 'after' });
    const handle = await open(path.join(original, 'a'), 'r+');
    const over = new AbortController();
    const writing = (async () => {
      for (let round = 0; !over.signal.aborted; round += 1) {
        await handle.truncate(round % 2 === 0 ? 100 : 3_000_000);
        await handle.write(sampleBytes(50_000, round), 0, 50_000, (round * 40_000) % 3_000_000);
      }
    })();
    for (let round = 0; round < 4; round += 1) {
      expect(await namesIn(pack(original))).toEqual(['a', 'b']);
      await rm(outputPath('target'), { recursive: true });
    }
    over.abort();
    await writing;
    await handle.close();
  });
});

test('throws if the directory is missing or an entry is unreadable', async () => {
  await expect(buffer(pack(outputPath('nowhere')))).rejects.toMatchObject({ code: 'ENOENT' });
  const original = await fill(named('file', 'closed/file'));
  await expect(buffer(pack(path.join(original, 'file')))).rejects.toMatchObject({ code: 'ENOTDIR' });
  test.skip(process.getuid?.() === 0, 'the superuser can read everything');
  await chmod(path.join(original, 'closed'), 0o000);
  await expect(buffer(pack(original))).rejects.toMatchObject({ code: 'EACCES' });
  await chmod(path.join(original, 'closed'), 0o700);
});

test('throws for a name that is not UTF-8, instead of leaving the file out', async () => {
  test.skip(process.platform !== 'linux', 'other systems refuse such names');
  const directory = await fill(named('Default/file'));
  await writeFile(Buffer.concat([Buffer.from(path.join(directory, 'Default/')), Buffer.from([0xff])]), '');
  await expect(buffer(pack(directory))).rejects.toThrow('because its name is not valid UTF-8: rename it');
});

test('packing reports the progress of entries and bytes at intervals, and the totals at the end', async () => {
  const original = await fill({ large: sampleBytes(5_000_000) });
  for (let index = 0; index < 300; index += 1) await writeFile(path.join(original, String(index)), 'x'.repeat(1000));
  const reports: Progress[] = [];
  const start = performance.now();
  await buffer(pack(original, { onProgress: (progress) => reports.push(progress) }));
  const tenths = (performance.now() - start) / 100;
  expect(reports.at(-1)).toEqual({ entries: 301, bytes: 5_300_000 });
  expect(reports.length).toBeLessThanOrEqual(tenths + 2);
  for (const [index, report] of reports.entries()) {
    expect(report.bytes).toBeGreaterThanOrEqual(reports[index - 1]?.bytes ?? 0);
  }
});

test.describe('stopping', () => {
  test("an abort ends the archive's stream and closes all packed files", async () => {
    const original = await fill({ large: sampleBytes(15_000_000) });
    const abort = new AbortController();
    const archive = pack(original, { signal: abort.signal });
    const reading = (async () => {
      for await (const chunk of archive) if (chunk) abort.abort();
    })();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    await expect.poll(async () => await openFilesIn(original)).toEqual([]);
    await expect(buffer(pack(original, { signal: AbortSignal.abort() }))).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('closes all packed files if the reader stops in the middle of the archive', async () => {
    const original = await fill({ large: sampleBytes(15_000_000) });
    for await (const chunk of pack(original)) if (chunk) break;
    await expect.poll(async () => await openFilesIn(original)).toEqual([]);
  });
});

/**
 * Changes a directory while it is packed: the first file, which is large, is being read, and the others have not been
 * looked at.
 */
async function changedWhilePacking(compression: 'zstd' | 'none', change: (directory: string) => Promise<void>) {
  const original = await fill({
    'a-first': sampleBytes(12_000_000),
    'a-large': sampleBytes(300_000),
    ...Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`b-${index}`, 'small'])),
    'z-directory/z-large': sampleBytes(6_000_000),
    'z-directory/z-last': 'last',
  });
  await symlink('a-first', path.join(original, 'y-link'));
  const archive = pack(original, { compression });
  const chunks: Buffer[] = [];
  for await (const chunk of archive) {
    if (chunks.length === 0) await change(original);
    chunks.push(chunk as Buffer);
  }
  return await extractHere(Buffer.concat(chunks));
}
