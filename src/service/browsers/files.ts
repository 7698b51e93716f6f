import { constants, type Stats } from 'node:fs';
import { chmod, chown, lstat, open, readdir, readFile, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { OperationError } from '../../contract/errors.ts';
import type { FileInfo } from '../../contract/files.ts';
import { errorCode } from '../system-error.ts';
import { makeDirectory, pathSegments, withEntry } from './confined-path.ts';
import { fileError, type PathUse } from './file-errors.ts';
import { fileInfo } from './file-info.ts';
import { isUpload, receive, uploadName } from './receive.ts';

/**
 * The file operations on a session's file system: `/home/user/a` is `<root>/home/user/a` on the host, and nothing outside the root is ever touched.
 * Modes are octal text as on the wire. Everything throws `OperationError`, with the session's path in the message and never the host's.
 */
export class SessionFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** `size` is in bytes. The stream must be read to its end or destroyed. */
  async read(sessionPath: string): Promise<{ stream: Readable; size: number }> {
    return await this.#at(sessionPath, { followLink: true, missing: 'file' }, async (entry) => {
      // Opening a FIFO would wait for its other side without O_NONBLOCK.
      const file = await open(entry, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const { size } = regular(await file.stat(), sessionPath);
        if (size > 0) return { stream: file.createReadStream({ end: size - 1, highWaterMark: 512 * 1024 }), size };
        await file.close();
        return { stream: Readable.from([]), size };
      } catch (error) {
        await file.close();
        throw error;
      }
    });
  }

  /**
   * Writes what `stream` brings, all or nothing: it goes to a new file beside the target, which takes the target's place at the end.
   * `mode` is for a new file only. After an error the rest of the stream is left unread, so that the answer can still be sent.
   */
  async write(sessionPath: string, stream: Readable, mode: string, signal: AbortSignal): Promise<void> {
    const options: PathUse = { followLink: true, makeParents: true, missing: 'directory', inTheWay: 'bad_request' };
    await this.#at(sessionPath, options, async (entry, directory) => {
      const existing = await statsOrMissing(entry);
      if (existing) regular(existing, sessionPath);
      const upload = `${directory}/${uploadName()}`;
      try {
        await receive(stream, upload, signal, async (file) => {
          if (existing) await file.chown(existing.uid, existing.gid).catch(() => {});
          // Not given to open, where the umask would take bits away.
          await file.chmod(existing ? existing.mode & 0o7777 : Number.parseInt(mode, 8));
        });
        await rename(upload, entry);
      } catch (error) {
        await rm(upload, { force: true });
        throw error;
      }
    });
  }

  /** One level, sorted by name. Links are described themselves, not what they point to. */
  async list(sessionPath: string): Promise<FileInfo[]> {
    return await this.#at(sessionPath, { followLink: true, missing: 'directory' }, async (entry) => {
      if (!(await lstat(entry)).isDirectory()) {
        throw new OperationError('bad_request', `${JSON.stringify(sessionPath)} is not a directory`);
      }
      const names = (await readdir(entry)).filter((name) => !isUpload(name)).sort();
      const found = await Promise.all(
        names.map(async (name) => {
          const stats = await statsOrMissing(`${entry}/${name}`);
          return stats && fileInfo(`${shown(sessionPath) === '/' ? '' : shown(sessionPath)}/${name}`, stats);
        }),
      );
      return found.filter((info) => info !== undefined);
    });
  }

  async info(sessionPath: string): Promise<FileInfo> {
    return await this.#at(sessionPath, { followLink: true, missing: 'path' }, async (entry) =>
      fileInfo(shown(sessionPath), await lstat(entry)),
    );
  }

  /** Missing parents get 0755. A directory that exists is a success and keeps its mode. */
  async createDirectory(sessionPath: string, mode: string): Promise<void> {
    await this.#at(sessionPath, { followLink: true, makeParents: true, missing: 'directory' }, async (entry) => {
      if (await makeDirectory(entry, Number.parseInt(mode, 8))) return;
      if (!(await lstat(entry)).isDirectory()) throw new OperationError('conflict', `${JSON.stringify(sessionPath)} is a file`);
    });
  }

  /** Deletes a file, a link or an empty directory. */
  async deleteFile(sessionPath: string): Promise<void> {
    refuseRoot(sessionPath, 'deleted');
    await this.#at(sessionPath, { missing: 'file' }, async (entry) => {
      await ((await lstat(entry)).isDirectory() ? rmdir(entry) : unlink(entry));
    });
  }

  /** Deletes whatever is there, directories with all they hold, links without what they point to. A missing path is a success. */
  async deleteDirectory(sessionPath: string): Promise<void> {
    refuseRoot(sessionPath, 'deleted');
    try {
      await this.#at(sessionPath, { missing: 'path' }, (entry) => rm(entry, { recursive: true, force: true, maxRetries: 3 }));
    } catch (error) {
      if (!(error instanceof OperationError && error.code === 'not_found')) throw error;
    }
  }

  /** A plain rename, over an existing file if there is one. */
  async move(source: string, destination: string): Promise<void> {
    refuseRoot(source, 'moved');
    refuseRoot(destination, 'replaced');
    await this.#at(source, { missing: 'source' }, async (from) => {
      await lstat(from);
      await this.#at(destination, { missing: 'destination directory' }, (to) => rename(from, to));
    });
  }

  /** `owner` and `group`, numbers or names, are set as far as the service may and ignored otherwise. */
  async setPermissions(sessionPath: string, mode: string, owner?: string, group?: string): Promise<void> {
    await this.#at(sessionPath, { followLink: true, missing: 'path' }, async (entry) => {
      const { uid, gid } = await lstat(entry);
      // Before chmod: a change of the owner clears the set-user-id bit.
      if (owner || group) {
        const ids = [await accountId('/etc/passwd', owner, uid), await accountId('/etc/group', group, gid)] as const;
        await chown(entry, ...ids).catch(() => {});
      }
      await chmod(entry, Number.parseInt(mode, 8));
    });
  }

  async #at<T>(sessionPath: string, options: PathUse, use: (entry: string, directory: string) => Promise<T>): Promise<T> {
    try {
      return await withEntry(this.#root, sessionPath, options, use);
    } catch (error) {
      throw fileError(error, sessionPath, options);
    }
  }
}

/** Throws `bad_request` for what is not a regular file. */
export function regular(stats: Stats, sessionPath: string): Stats {
  if (stats.isFile()) return stats;
  const problem = stats.isDirectory() ? 'is a directory' : 'is not a regular file';
  throw new OperationError('bad_request', `${JSON.stringify(sessionPath)} ${problem}`);
}

function refuseRoot(sessionPath: string, verb: string): void {
  if (pathSegments(sessionPath).length === 0) throw new OperationError('forbidden', `the root directory cannot be ${verb}`);
}

/** The path as answers show it, without `..` and doubled slashes. */
export function shown(sessionPath: string): string {
  return `/${pathSegments(sessionPath).join('/')}`;
}

/** Of the entry itself, if it is a link. */
export async function statsOrMissing(entry: string): Promise<Stats | undefined> {
  try {
    return await lstat(entry);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The number of a user or group that is given by number or name; `current` when there is none such. */
async function accountId(table: '/etc/passwd' | '/etc/group', nameOrId: string | undefined, current: number): Promise<number> {
  if (!nameOrId) return current;
  if (/^\d{1,9}$/.test(nameOrId)) return Number(nameOrId);
  const lines = await readFile(table, 'utf8').catch(() => '');
  const fields = lines.split('\n').map((line) => line.split(':'));
  return Number(fields.find(([name]) => name === nameOrId)?.[2] ?? current);
}
