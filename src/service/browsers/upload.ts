import { createReadStream, type Stats } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { OperationError } from '../../contract/errors.ts';
import { errorCode } from '../system-error.ts';
import { pathSegments, withEntry } from './confined-path.ts';
import { fileError, type PathUse } from './file-errors.ts';
import { regular, SessionFiles, statsOrMissing } from './files.ts';
import { receive, uploadName } from './receive.ts';

/** A received file, by its path on the host, and where in the session it is to be. */
export type Placement = { received: string; sessionPath: string };

const following: PathUse = { followLink: true, makeParents: true, missing: 'directory', inTheWay: 'bad_request' };

/**
 * Files on their way into a session's file system: they are received into a hidden directory of it, and put in their places when all are
 * there and nothing is in the way of any. To be disposed of in any case. Everything throws `OperationError`.
 */
export class Upload {
  readonly #root: string;
  readonly #directory: string;
  readonly #signal: AbortSignal;
  #received = 0;

  private constructor(root: string, directory: string, signal: AbortSignal) {
    this.#root = root;
    this.#directory = directory;
    this.#signal = signal;
  }

  static async start(root: string, signal: AbortSignal): Promise<Upload> {
    const directory = path.join(root, uploadName());
    await orFileError('/', mkdir(directory, { mode: 0o700 }));
    return new Upload(root, directory, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Stores what a stream brings; resolves with the host path. `mode` is the file's, whatever it replaces. */
  async receive(stream: Readable, mode = 0o644): Promise<string> {
    const received = path.join(this.#directory, String(this.#received++));
    await orFileError(
      '/',
      receive(stream, received, this.#signal, (file) => file.chmod(mode)),
    );
    return received;
  }

  /** Puts received files in their places, over existing files, and makes directories. Nothing is done when one of them can't be there. */
  async place(placements: readonly Placement[], directories: readonly string[] = []): Promise<void> {
    const contested = firstOverlap(placements.map(({ sessionPath }) => sessionPath));
    if (contested) throw new OperationError('bad_request', `two files are to be at ${JSON.stringify(contested)}, or one below the other`);
    for (const { sessionPath } of placements) await this.#check(sessionPath, (existing) => regular(existing, sessionPath));
    for (const directory of directories) await this.#check(directory, (existing) => refuseFile(existing, directory));

    const files = new SessionFiles(this.#root);
    for (const directory of directories) await files.createDirectory(directory, '755');
    for (const { received, sessionPath } of placements) {
      await orFileError(
        sessionPath,
        withEntry(this.#root, sessionPath, following, (entry) => rename(received, entry)).catch(async (error: unknown) => {
          if (errorCode(error) !== 'EXDEV') throw error;
          // Another file system is mounted there.
          await files.write(sessionPath, createReadStream(received), '644', this.#signal);
        }),
      );
    }
  }

  /** Looks at what is at a path already, if anything. */
  async #check(sessionPath: string, refuse: (existing: Stats) => unknown): Promise<void> {
    const look = withEntry(this.#root, sessionPath, { followLink: true }, async (entry) => {
      const existing = await statsOrMissing(entry);
      if (existing) refuse(existing);
    });
    await orFileError(
      sessionPath,
      look.catch((error: unknown) => {
        // Parents that are missing will be made.
        if (errorCode(error) !== 'ENOENT') throw error;
      }),
    );
  }
}

/** The first path of a file at or below which another file is to be, or a directory. */
export function firstOverlap(files: readonly string[], directories: readonly string[] = []): string | undefined {
  const places = [...files, ...directories].map((path, index) => ({ key: pathSegments(path).join('\0'), isFile: index < files.length }));
  // What is at a path or below it comes next to it then: NUL is before all characters of names.
  places.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
  const contested = places.find(({ key, isFile }, index) => {
    const next = places[index + 1];
    return isFile && next !== undefined && `${next.key}\0`.startsWith(`${key}\0`);
  });
  return contested && `/${contested.key.replaceAll('\0', '/')}`;
}

function refuseFile(existing: Stats, sessionPath: string): void {
  if (!existing.isDirectory())
    throw new OperationError('bad_request', `${JSON.stringify(sessionPath)}: a file is in the way of a directory`);
}

async function orFileError<T>(sessionPath: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw fileError(error, sessionPath, following);
  }
}
