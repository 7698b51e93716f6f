import { constants } from 'node:fs';
import { lstat, open, readlink, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { pack as tarPack, type Header, type Pack } from 'tar-stream';
import { isExcluded } from './exclude.ts';
import { inOrder } from './in-order.ts';
import { ProgressCount, type Progress } from './progress.ts';
import { unlessVanished, walk, type WalkedEntry } from './walk.ts';
import { drained } from './tar-entries.ts';

export type TarOptions = {
  onProgress?: ((progress: Progress) => void) | undefined;
  withoutCaches?: boolean | undefined;
};

type EntryHeader = Partial<Header> & { name: string };

/** An entry with its content, or the name of a large file, whose content is read later. */
type Loaded = { header: EntryHeader; content?: Buffer } | { large: string } | undefined;

const smallFileBytes = 256 * 1024;
const readBytes = 1024 * 1024;
const entriesAtOnce = 16;
/** The latest time that tar-stream can write into a header, in seconds. */
const latestTime = 2 ** 31 - 1;

/** Packs a directory into a tar. */
export async function* tarOf(
  directory: string,
  { onProgress, withoutCaches }: TarOptions,
): AsyncGenerator<Uint8Array, void> {
  const tar = tarPack();
  const progress = new ProgressCount(onProgress);
  const filled = fill(tar, directory, (name) => isExcluded(name, withoutCaches), progress).catch((error: Error) =>
    tar.destroy(error),
  );
  try {
    for await (const chunk of tar) yield chunk as Uint8Array;
  } finally {
    await filled;
  }
}

async function fill(
  tar: Pack,
  directory: string,
  isExcluded: (name: string) => boolean,
  progress: ProgressCount,
): Promise<void> {
  const entries = walk(directory, isExcluded);
  for await (const loaded of inOrder(entries, { limit: entriesAtOnce }, (entry) => load(directory, entry))) {
    if (loaded === undefined) continue;
    if ('large' in loaded) {
      await addLargeFile(tar, directory, loaded.large, progress);
    } else {
      progress.addEntry();
      await addEntry(tar, loaded.header, loaded.content);
      progress.addBytes(loaded.content?.length ?? 0);
    }
  }
  progress.end();
  tar.finalize();
}

async function load(directory: string, { name, kind }: WalkedEntry): Promise<Loaded> {
  const file = path.join(directory, name);
  if (kind === 'file') return await loadFile(directory, name);
  const status = await unlessVanished(lstat(file));
  if (status === undefined) return undefined;
  if (kind === 'directory')
    return status.isDirectory()
      ? { header: { ...header(name, status), name: `${name}/`, type: 'directory' } }
      : undefined;
  const linkname = await unlessVanished(readlink(file));
  return linkname === undefined ? undefined : { header: { ...header(name, status), type: 'symlink', linkname } };
}

async function loadFile(directory: string, name: string): Promise<Loaded> {
  return await withFile(path.join(directory, name), async (handle) => {
    const status = await handle.stat();
    if (!status.isFile()) return undefined;
    if (status.size > smallFileBytes) return { large: name };
    const content = Buffer.alloc(status.size);
    await fillFrom(handle, content);
    return { header: { ...header(name, status), type: 'file' }, content };
  });
}

async function addLargeFile(tar: Pack, directory: string, name: string, progress: ProgressCount): Promise<void> {
  await withFile(path.join(directory, name), async (handle) => {
    const status = await handle.stat();
    if (!status.isFile()) return;
    progress.addEntry();
    await addEntry(tar, { ...header(name, status), type: 'file', size: status.size }, async (sink) => {
      for (let left = status.size; left > 0;) {
        const chunk = Buffer.alloc(Math.min(left, readBytes));
        await fillFrom(handle, chunk);
        if (!sink.write(chunk)) await drained(sink);
        progress.addBytes(chunk.length);
        left -= chunk.length;
      }
      sink.end(null);
    });
  });
}

/** Adds an entry, and waits until the tar takes the next one. */
async function addEntry(
  tar: Pack,
  header: EntryHeader,
  content?: Buffer | ((sink: ReturnType<Pack['entry']>) => Promise<void>),
): Promise<void> {
  let writing: Promise<void> | undefined;
  const added = new Promise<void>((resolve, reject) => {
    const settle = (error?: Error | null) => (error ? reject(error) : resolve());
    const sink = Buffer.isBuffer(content) ? tar.entry(header, content, settle) : tar.entry(header, settle);
    // Ignored here: the tar stream reports the same error.
    sink.on('error', () => {});
    if (typeof content === 'function') writing = content(sink);
  });
  await Promise.all([added, writing]);
}

/**
 * Opens a file for `use`. Resolves to `undefined` if it vanished. Doesn't follow a link, and doesn't wait for a FIFO, that
 * replaced the file meanwhile.
 */
async function withFile<T>(file: string, use: (handle: FileHandle) => Promise<T>): Promise<T | undefined> {
  const handle = await unlessVanished(open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
  if (handle === undefined) return undefined;
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

/** Reads until the buffer is full. If the file became shorter, zeros fill the rest. */
async function fillFrom(handle: FileHandle, buffer: Buffer): Promise<void> {
  for (let filled = 0; filled < buffer.length;) {
    const { bytesRead } = await handle.read(buffer, filled);
    if (bytesRead === 0) return;
    filled += bytesRead;
  }
}

function header(name: string, status: { mode: number; mtimeMs: number }): EntryHeader {
  const seconds = Math.min(Math.max(Math.floor(status.mtimeMs / 1000), 0), latestTime);
  return { name, mode: status.mode & 0o777, mtime: new Date(seconds * 1000) };
}
