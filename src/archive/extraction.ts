import {
  chmodSync,
  closeSync,
  futimesSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Header } from 'tar-stream';
import { BoundedWrites } from './bounded-writes.ts';
import { EntryTree, nameSegments } from './entry-tree.ts';
import { ArchiveError } from './errors.ts';
import { isExcluded } from './exclude.ts';
import type { Limits } from './limits.ts';
import type { ProgressCount } from './progress.ts';
import type { EntrySink } from './tar-entries.ts';
import { setImmediate } from 'node:timers/promises';

/** Files up to this size are written in one step, larger files in batches of at least this size. */
const batchBytes = 256 * 1024;

/**
 * Writes the entries of an archive into a directory. Uses synchronous calls for small files: a user-data directory has
 * thousands of them, and asynchronous calls, which Node runs in threads, take five times as long. Writes large files
 * asynchronously.
 */
export class Extraction {
  readonly #directory: string;
  readonly #limits: Limits;
  readonly #progress: ProgressCount;
  readonly #only: RegExp;
  readonly #tree: EntryTree;
  readonly #writes = new BoundedWrites();
  readonly #turns = new Turns();
  // These lists keep only the needed fields, because a tar header can hold megabytes.
  readonly #directories: { file: string; mode: number; time: number }[] = [];
  readonly #symlinks: { name: string; file: string; target: string; time: number }[] = [];
  readonly #hardLinks: { file: string; target: string }[] = [];

  constructor(directory: string, limits: Limits, progress: ProgressCount, only = /^/) {
    this.#directory = directory;
    this.#progress = progress;
    this.#only = only;
    this.#limits = limits;
    this.#tree = new EntryTree(limits);
  }

  /** Adds the next entry. Returns the object that takes its content. Throws an `ArchiveError` for a refused entry. */
  add(header: Header): EntrySink | undefined {
    const { name, type } = header;
    // tar-stream's types don't say that an empty name is null.
    const linkname = (header.linkname as string | null) ?? '';
    this.#limits.count(name, header.size);
    const entry = nameSegments(name).join('/');
    if (isExcluded(entry) || !this.#only.test(entry)) return undefined;
    this.#progress.addEntry();
    switch (isSparse(header) ? 'sparse' : type) {
      case 'file':
      case 'contiguous-file':
        return this.#addFile(header);
      case 'directory':
        this.#directories.push({ file: this.#place(name, 'directory'), mode: header.mode, time: timeOf(header) });
        break;
      case 'symlink':
        this.#symlinks.push({ name, file: this.#place(name, 'symlink'), target: linkname, time: timeOf(header) });
        break;
      case 'link': {
        const target = path.join(this.#directory, this.#tree.linkedFile(linkname, name));
        this.#hardLinks.push({ file: this.#place(name, 'file'), target });
        break;
      }
      default:
        throw new ArchiveError(
          'unsupported',
          `is not a file, directory or link (its type is ${isSparse(header) ? 'sparse' : (type ?? 'unknown')})`,
          name,
        );
    }
    return { write: () => undefined, end: () => this.#turns.next() };
  }

  /** Creates the links last, so that no entry is written through one, and sets modes and times of directories. */
  async finish(): Promise<void> {
    await this.#writes.settled();
    for (const { name, target } of this.#symlinks) this.#tree.checkSymlink(name, target);
    for (const { file, target } of this.#hardLinks) {
      await this.#turns.next();
      linkSync(target, file);
    }
    for (const { file, target, time } of this.#symlinks) {
      await this.#turns.next();
      symlinkSync(target, file);
      lutimesSync(file, time, time);
    }
    for (const { file, mode, time } of this.#directories) {
      await this.#turns.next();
      chmodSync(file, ((mode & 0o777) | 0o700) & ~process.umask());
      utimesSync(file, time, time);
    }
    this.#progress.end();
  }

  /** Waits until no write runs. Never rejects. */
  async stopped(): Promise<void> {
    await this.#writes.settled().catch(() => {});
  }

  #addFile(header: Header): EntrySink {
    const file = this.#place(header.name, 'file');
    return header.size > batchBytes ? this.#largeFile(file, header) : this.#smallFile(file, header);
  }

  #smallFile(file: string, header: Header): EntrySink {
    const chunks: Buffer[] = [];
    return {
      write: (chunk) => void chunks.push(chunk),
      end: () => {
        const descriptor = openSync(file, 'wx', modeOf(header));
        try {
          for (const chunk of chunks) writeFileSync(descriptor, chunk);
          futimesSync(descriptor, timeOf(header), timeOf(header));
        } finally {
          closeSync(descriptor);
        }
        this.#progress.addBytes(header.size);
        return this.#turns.next();
      },
    };
  }

  #largeFile(file: string, header: Header): EntrySink {
    let batch: Buffer[] = [];
    let bytes = 0;
    let left = header.size;
    let before: Promise<void> | undefined;
    const writeBatch = async (content: Buffer[], previous: Promise<void> | undefined, isLast: boolean) => {
      await previous;
      const handle = await open(file, previous === undefined ? 'wx' : 'a', modeOf(header));
      try {
        await writeFile(handle, content);
        if (isLast) await handle.utimes(timeOf(header), timeOf(header));
      } finally {
        await handle.close();
      }
    };
    return {
      write: (chunk) => {
        batch.push(chunk);
        bytes += chunk.length;
        left -= chunk.length;
        if (bytes < batchBytes && left > 0) return undefined;
        const [content, previous, isLast] = [batch, before, left === 0];
        before = this.#writes.start(bytes, () => writeBatch(content, previous, isLast));
        this.#progress.addBytes(bytes);
        batch = [];
        bytes = 0;
        return this.#writes.room();
      },
      end: () => undefined,
    };
  }

  /**
   * Returns the path of an entry. Creates its missing parent directories, and the entry itself if it is a directory.
   */
  #place(name: string, kind: 'file' | 'directory' | 'symlink'): string {
    const place = this.#tree.add(name, kind);
    for (const directory of place.missing) mkdirSync(path.join(this.#directory, directory), 0o700);
    return path.join(this.#directory, place.path);
  }
}

/** The mode of an extracted file: without set-user-id bits, and readable and writable for the owner. */
function modeOf({ mode }: Header): number {
  return (mode & 0o777) | 0o600;
}

/** The time of an entry in seconds, limited to what file systems support. */
function timeOf({ mtime }: Header): number {
  return Math.min(Math.max(mtime.getTime() / 1000 || 0, 0), 2 ** 32);
}

/** Whether GNU tar has stored the file as a sparse file: its content then is a map of holes and the data between them. */
function isSparse({ pax }: Header): boolean {
  return Object.keys(pax ?? {}).some((key) => key.startsWith('GNU.sparse.'));
}

const longestTurnMs = 5;

/** Lets the event loop run every 5 ms during long synchronous work. */
class Turns {
  #since = performance.now();

  /** Call after each step. Returns a promise to wait for if the work has blocked the event loop for 5 ms, else `undefined`. */
  next(): Promise<void> | undefined {
    return performance.now() - this.#since < longestTurnMs ? undefined : this.#wait();
  }

  async #wait(): Promise<void> {
    await setImmediate();
    this.#since = performance.now();
  }
}
