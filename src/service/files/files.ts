import { constants, type Stats } from 'node:fs';
import { chmod, chown, lstat, open, readdir, readFile, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { OperationError } from '../../contract/errors.ts';
import type { FileInfo } from '../../contract/files.ts';
import { errorCode } from '../process/system-error.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
import {
  giveToOwner,
  makeDirectory,
  openDirectory,
  ownUser,
  pathSegments,
  permissionBits,
} from '../sessions/confined-path.ts';
import { atEntry, type PathUse } from './file-errors.ts';
import { fileInfo } from './file-info.ts';
import { isUpload, receive, uploadName } from './receive.ts';

/**
 * The file operations on a session's file system: `/home/user/a` is `<root>/home/user/a` on the host, and nothing
 * outside the root is touched. Modes are octal texts such as `644`. All methods throw `OperationError` with the session
 * path, never the host path.
 */
export class SessionFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** `size` is in bytes. Read the stream to its end or destroy it. */
  async read(sessionPath: string): Promise<{ stream: Readable; size: number }> {
    return await this.#at(sessionPath, { followLink: true, missing: 'file' }, async (entry) => {
      // Without O_NONBLOCK, opening a FIFO waits for a writer.
      const file = await open(entry, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const { size } = requireFile(await file.stat(), sessionPath);
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
   * Writes a stream to a temporary file, which replaces the target when it is complete. `mode` is for a new file only,
   * `modTime` is in ISO 8601. After an error the rest of the stream stays unread, so that the answer can still be sent.
   */
  async write(
    sessionPath: string,
    stream: Readable,
    mode: string,
    signal: AbortSignal,
    modTime?: string,
  ): Promise<void> {
    const options: PathUse = { followLink: true, makeParents: true, missing: 'directory', inTheWay: 'bad_request' };
    await this.#at(sessionPath, options, async (entry, directory) => {
      const existing = await statsOrMissing(entry);
      if (existing) requireFile(existing, sessionPath);
      const upload = `${directory}/${uploadName()}`;
      try {
        await receive(stream, upload, signal, async (file) => {
          await giveToOwner(file, this.#root, existing);
          // Sets the mode after opening, because the umask clears bits of the mode that `open` takes.
          await file.chmod((existing ? existing.mode : Number.parseInt(mode, 8)) & permissionBits);
          if (modTime !== undefined) await file.utimes(new Date(), new Date(modTime));
        });
        await rename(upload, entry);
      } catch (error) {
        await rm(upload, { force: true });
        throw error;
      }
    });
  }

  /** Lists one level, sorted by name. Describes links, not their targets. */
  async list(sessionPath: string): Promise<FileInfo[]> {
    return await this.#at(sessionPath, { followLink: true, missing: 'directory' }, async (entry) => {
      if (!(await lstat(entry)).isDirectory()) {
        throw new OperationError('bad_request', `${JSON.stringify(sessionPath)} is not a directory`);
      }
      // On Linux the directory is held open: a process of the session may replace it by a link meanwhile.
      await using handle = process.platform === 'linux' ? await openDirectory(entry) : undefined;
      const held = handle ? `/proc/self/fd/${handle.fd}` : entry;
      const names = (await readdir(held)).filter((name) => !isUpload(name)).sort();
      const found = await Promise.all(
        names.map(async (name) => {
          const stats = await statsOrMissing(`${held}/${name}`);
          return stats && fileInfo(`${normalPath(sessionPath) === '/' ? '' : normalPath(sessionPath)}/${name}`, stats);
        }),
      );
      return found.filter((info) => info !== undefined);
    });
  }

  async info(sessionPath: string): Promise<FileInfo> {
    return await this.#at(sessionPath, { followLink: true, missing: 'path' }, async (entry) =>
      fileInfo(normalPath(sessionPath), await lstat(entry)),
    );
  }

  /** Creates missing parents with 0755. An existing directory is a success and keeps its mode. */
  async createDirectory(sessionPath: string, mode: string): Promise<void> {
    await this.#at(sessionPath, { followLink: true, makeParents: true, missing: 'directory' }, async (entry) => {
      if (await makeDirectory(entry, Number.parseInt(mode, 8), this.#root)) return;
      if (!(await lstat(entry)).isDirectory())
        throw new OperationError(
          'conflict',
          `${JSON.stringify(sessionPath)} is an existing file: choose another path for the directory`,
        );
    });
  }

  /** Deletes a file, a link or an empty directory. */
  async deleteFile(sessionPath: string): Promise<void> {
    refuseRoot(sessionPath, 'deleted');
    await this.#at(sessionPath, { missing: 'file' }, async (entry) => {
      await ((await lstat(entry)).isDirectory() ? rmdir(entry) : unlink(entry));
    });
  }

  /** Deletes a file, or a directory with its contents, or a link without its target. A missing path is a success. */
  async deleteDirectory(sessionPath: string): Promise<void> {
    refuseRoot(sessionPath, 'deleted');
    try {
      const user = await ownUser(this.#root);
      await this.#at(sessionPath, { missing: 'path' }, (entry) => removeTree(entry, { ownedBy: user?.uid }));
    } catch (error) {
      if (!(error instanceof OperationError && error.code === 'not_found')) throw error;
    }
  }

  /** Renames, over an existing file if there is one. */
  async move(source: string, destination: string): Promise<void> {
    refuseRoot(source, 'moved');
    refuseRoot(destination, 'replaced');
    await this.#at(source, { missing: 'source' }, async (from) => {
      await lstat(from);
      await this.#at(destination, { missing: 'destination directory' }, (to) => rename(from, to));
    });
  }

  /**
   * Sets the mode, the owner and the group, but never the set-user-id and set-group-id bits. `owner` and `group` are
   * numbers or names. They are ignored if the service may not set them, and if the session has a user of its own.
   */
  async setPermissions(sessionPath: string, mode: string, owner?: string, group?: string): Promise<void> {
    await this.#at(sessionPath, { followLink: true, missing: 'path' }, async (entry) => {
      // On Linux the entry is held open, so an entry that replaces it meanwhile stays unchanged.
      await using handle = process.platform === 'linux' ? await open(entry, pathOnly) : undefined;
      const held = handle ? `/proc/self/fd/${handle.fd}` : entry;
      const { uid, gid } = await stat(held);
      const user = await ownUser(this.#root);
      if (user) {
        if (uid !== user.uid)
          throw new OperationError('forbidden', `${JSON.stringify(sessionPath)} belongs to another user`);
      } else if (owner || group) {
        const ids = [await accountId('/etc/passwd', owner, uid), await accountId('/etc/group', group, gid)] as const;
        await chown(held, ...ids).catch(() => {});
      }
      await chmod(held, Number.parseInt(mode, 8) & permissionBits);
    });
  }

  async #at<T>(
    sessionPath: string,
    options: PathUse,
    use: (entry: string, directory: string) => Promise<T>,
  ): Promise<T> {
    return await atEntry(this.#root, sessionPath, options, use);
  }
}

/** `O_PATH`, a flag of Linux that Node has no name for. With it, opening a file needs no permission to read it. */
const pathOnly = 0o10000000 | constants.O_NOFOLLOW;

/** Throws `bad_request` unless it is a regular file. */
export function requireFile(stats: Stats, sessionPath: string): Stats {
  if (stats.isFile()) return stats;
  const problem = stats.isDirectory() ? 'is a directory' : 'is not a regular file';
  throw new OperationError('bad_request', `${JSON.stringify(sessionPath)} ${problem}`);
}

function refuseRoot(sessionPath: string, verb: string): void {
  if (pathSegments(sessionPath).length === 0)
    throw new OperationError('forbidden', `the root directory cannot be ${verb}`);
}

/** The path as answers contain it: without `..` and doubled slashes. */
export function normalPath(sessionPath: string): string {
  return `/${pathSegments(sessionPath).join('/')}`;
}

/** The stats of an entry; `undefined` if it doesn't exist. Those of a link are its own, not its target's. */
export async function statsOrMissing(entry: string): Promise<Stats | undefined> {
  try {
    return await lstat(entry);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The id of a user or group, from its id or name. Returns `current` for an unknown name. */
async function accountId(
  table: '/etc/passwd' | '/etc/group',
  nameOrId: string | undefined,
  current: number,
): Promise<number> {
  if (!nameOrId) return current;
  if (/^\d{1,9}$/.test(nameOrId)) return Number(nameOrId);
  const lines = await readFile(table, 'utf8').catch(() => '');
  const fields = lines.split('\n').map((line) => line.split(':'));
  return Number(fields.find(([name]) => name === nameOrId)?.[2] ?? current);
}
