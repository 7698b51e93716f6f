import { createReadStream, type Stats } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { OperationError } from '../../contract/errors.ts';
import { errorCode } from '../process/system-error.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
import { giveToOwner, ownUser, pathSegments, permissionBits, withEntry } from '../sessions/confined-path.ts';
import { fileError, type PathUse } from './file-errors.ts';
import { requireFile, SessionFiles, statsOrMissing } from './files.ts';
import { receive, uploadName } from './receive.ts';

/** A received file: its host path, and its destination in the session. */
export type Placement = { received: string; sessionPath: string };

const following: PathUse = { followLink: true, makeParents: true, missing: 'directory', inTheWay: 'bad_request' };

/**
 * Receives files into a hidden directory of the session, and moves them to their destinations when all are complete.
 * Must be disposed. All methods throw `OperationError`.
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
    // Processes of a session with a user of its own could replace what is in its root.
    const directory = path.join((await ownUser(root)) ? path.dirname(root) : root, uploadName());
    await orFileError('/', mkdir(directory, { mode: 0o700 }));
    return new Upload(root, directory, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeTree(this.#directory);
  }

  /** Stores a stream as a file with `mode`, and returns its host path. */
  async receive(stream: Readable, mode = 0o644): Promise<string> {
    const received = path.join(this.#directory, String(this.#received++));
    await orFileError(
      '/',
      receive(stream, received, this.#signal, async (file) => {
        await giveToOwner(file, this.#root);
        await file.chmod(mode & permissionBits);
      }),
    );
    return received;
  }

  /**
   * Moves received files to their destinations, over existing files, and creates directories. Does nothing if one of
   * them is impossible.
   */
  async place(placements: readonly Placement[], directories: readonly string[] = []): Promise<void> {
    const contested = firstOverlap(placements.map(({ sessionPath }) => sessionPath));
    if (contested)
      throw new OperationError(
        'bad_request',
        `two files have the destination ${JSON.stringify(contested)}, or another file needs it as its directory: choose other paths`,
      );
    for (const { sessionPath } of placements)
      await this.#check(sessionPath, (existing) => requireFile(existing, sessionPath));
    for (const directory of directories) await this.#check(directory, (existing) => refuseFile(existing, directory));

    const files = new SessionFiles(this.#root);
    for (const directory of directories) await files.createDirectory(directory, '755');
    for (const { received, sessionPath } of placements) {
      this.#signal.throwIfAborted();
      await orFileError(
        sessionPath,
        withEntry(this.#root, sessionPath, following, (entry) => rename(received, entry)).catch(
          async (error: unknown) => {
            if (errorCode(error) !== 'EXDEV') throw error;
            // Another file system is mounted at the destination.
            const copied = createReadStream(received);
            await files.write(sessionPath, copied, '644', this.#signal).finally(() => copied.destroy());
          },
        ),
      );
    }
  }

  /** Calls `refuse` with the stats of an existing entry. */
  async #check(sessionPath: string, refuse: (existing: Stats) => unknown): Promise<void> {
    const look = withEntry(this.#root, sessionPath, { followLink: true }, async (entry) => {
      const existing = await statsOrMissing(entry);
      if (existing) refuse(existing);
    });
    await orFileError(
      sessionPath,
      look.catch((error: unknown) => {
        // Missing parents will be created.
        if (errorCode(error) !== 'ENOENT') throw error;
      }),
    );
  }
}

/** The first path of a file that another file or directory shares or needs as its parent. */
export function firstOverlap(files: readonly string[], directories: readonly string[] = []): string | undefined {
  const places = [...files, ...directories].map((path, index) => ({
    key: pathSegments(path).join('\0'),
    isFile: index < files.length,
  }));
  // NUL sorts before all characters of names, so entries below a path follow it.
  places.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
  const contested = places.find(({ key, isFile }, index) => {
    const next = places[index + 1];
    return isFile && next !== undefined && `${next.key}\0`.startsWith(`${key}\0`);
  });
  return contested && `/${contested.key.replaceAll('\0', '/')}`;
}

function refuseFile(existing: Stats, sessionPath: string): void {
  if (!existing.isDirectory())
    throw new OperationError(
      'bad_request',
      `${JSON.stringify(sessionPath)}: a file exists where a directory is needed`,
    );
}

async function orFileError<T>(sessionPath: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw fileError(error, sessionPath, following);
  }
}
