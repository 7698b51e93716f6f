import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import type { ProfileSave } from '../../contract/browsers.ts';
import { OperationError } from '../../contract/errors.ts';
import { copyTree } from '../process/trees/copy-tree.ts';
import { takeTree } from '../process/trees/hand-over.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
import { newId } from '../process/id.ts';
import { errorCode, isDiskFull } from '../process/system-error.ts';
import { mayChangeUser } from '../process/children/system-users.ts';
import type { Cookie } from '../chromium/cdp/cdp-protocol.ts';
import type { ProfileCopy } from '../sessions/local/local-profile.ts';
import type { ProfileStore } from './profiles.ts';

/** The records of the profiles, which say which version each profile has. */
export type ProfileRecords = Pick<ProfileStore, 'version' | 'versions' | 'setVersion' | 'used' | 'delete'>;

/** A version that stays on the disk until it is released. */
type ReadVersion = { version: string; directory: string; release: () => Promise<void> };

/** The user-data directory of an ended session: a copy of the version `copyOf`. */
type SessionDirectory = { directory: string; copyOf: string | undefined; sessionId: string; sessionCookies: Cookie[] };

/** The session that a user-data directory comes from, and the version that the session started with. */
type Origin = Pick<SessionDirectory, 'sessionId' | 'copyOf'>;

type Options = {
  directory: string;
  records: ProfileRecords;
  /** Called with the profile's id after each save. */
  onSaved: (profileId: string) => void;
};

/** In bytes. With less space on the disk, a save fails: writes of Chromium may have failed, which it doesn't report. */
const leastSpace = 16 * 1024 * 1024;
const filesAtOnce = 8;

/**
 * The stored user-data directories of profiles. Each save creates a new version, which is a directory of its own. The
 * record names the current version. Other versions are removed as soon as nobody reads them.
 */
export class ProfileDirectories {
  readonly #directory: string;
  readonly #records: ProfileRecords;
  readonly #onSaved: (profileId: string) => void;
  /** The number of readers of each version. */
  readonly #readers = new Map<string, number>();
  /** The versions to remove after their last reader. */
  readonly #obsolete = new Set<string>();
  /** For each current version, the session that saved it and the result of its save. */
  readonly #saves = new Map<string, { sessionId: string; save: ProfileSave }>();
  /** The storage origins of the current versions. A version never changes. */
  readonly #origins = new Map<string, Promise<string[]>>();

  private constructor({ directory, records, onSaved }: Options) {
    this.#directory = directory;
    this.#records = records;
    this.#onSaved = onSaved;
  }

  /** Uses `directory`, which must belong to this service alone. Removes unfinished versions of an earlier run. */
  static async open(options: Options): Promise<ProfileDirectories> {
    const directory = path.resolve(options.directory);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const versions = new Set(options.records.versions());
    const left = (await readdir(directory)).filter((name) => !versions.has(name));
    await Promise.all(left.map((name) => removeTree(path.join(directory, name))));
    return new ProfileDirectories({ ...options, directory });
  }

  /** The current version, which stays until `release` is called. `undefined` before the first save. */
  read(profileId: string): ReadVersion | undefined {
    const version = this.#records.version(profileId);
    if (version === undefined) return undefined;
    this.#readers.set(version, (this.#readers.get(version) ?? 0) + 1);
    return { version, directory: path.join(this.#directory, version), release: () => this.#release(version) };
  }

  /** The origins that may have storage in the current version. */
  async storageOrigins(profileId: string): Promise<string[]> {
    const stored = this.read(profileId);
    if (!stored) return [];
    const { version, directory, release } = stored;
    try {
      const origins = this.#origins.get(version) ?? readStorageOrigins(directory);
      this.#origins.set(version, origins);
      return await origins;
    } catch (error) {
      this.#origins.delete(version);
      throw error;
    } finally {
      await release();
    }
  }

  /** Records that a session uses the profile now. */
  used(profileId: string): void {
    this.#records.used(profileId);
  }

  /** Copies the current version to a new directory, for a session. Throws `insufficient_storage` on a full disk, and the signal's reason. */
  async copy(profileId: string, directory: string, signal: AbortSignal): Promise<ProfileCopy> {
    const stored = this.read(profileId);
    try {
      if (stored) await copyTree(stored.directory, directory, signal);
      else await mkdir(directory, { mode: 0o700 });
    } catch (error) {
      signal.throwIfAborted();
      throw isDiskFull(error)
        ? new OperationError('insufficient_storage', `the profile could not be copied: ${diskFull}`)
        : error;
    } finally {
      await stored?.release();
    }
    this.used(profileId);
    return {
      version: stored?.version,
      sessionCookies: await readSessionCookies(directory),
      save: (sessionId, sessionCookies) =>
        this.#save(profileId, { directory, copyOf: stored?.version, sessionId, sessionCookies }),
    };
  }

  /**
   * Saves an uploaded archive of a user-data directory as the profile's new version. `origin` is missing if the archive
   * doesn't come from a session. Throws `bad_request` for a damaged archive, and the errors of a copy's `save`.
   */
  async receive(
    profileId: string,
    archive: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    origin?: Origin,
  ): Promise<ProfileSave> {
    const { sessionId, copyOf } = origin ?? { sessionId: 'an upload', copyOf: this.#records.version(profileId) };
    const directory = path.join(this.#directory, newId());
    try {
      await unpack(archive, directory, signal);
      const sessionCookies = await readSessionCookies(directory);
      return await this.#save(profileId, { directory, copyOf, sessionId, sessionCookies });
    } finally {
      await remove(directory);
    }
  }

  /** Deletes a profile and its files. */
  async delete(profileId: string): Promise<void> {
    const version = this.#records.version(profileId);
    this.#records.delete(profileId);
    if (version !== undefined) await this.#removeUnread(version);
  }

  async #save(
    profileId: string,
    { directory, copyOf, sessionId, sessionCookies }: SessionDirectory,
  ): Promise<ProfileSave> {
    const version = newId();
    const stored = path.join(this.#directory, version);
    let replaced: string | undefined;
    try {
      await refuseFullDisk(directory);
      // The session had its own user id, which another session will get.
      if (mayChangeUser) await takeTree(directory);
      await writeSessionCookies(directory, sessionCookies);
      await move(directory, stored);
      const size = await sync(stored);
      replaced = this.#records.version(profileId);
      if (!this.#records.setVersion(profileId, version, size)) {
        throw new OperationError(
          'conflict',
          `the profile ${profileId} was deleted while the browser session ran: nothing was saved`,
        );
      }
    } catch (error) {
      await remove(stored);
      throw saveError(error);
    }
    const overwritten = replaced === copyOf ? undefined : replaced;
    const save: ProfileSave = overwritten === undefined ? { status: 'saved' } : this.#overwrite(overwritten, sessionId);
    this.#saves.set(version, { sessionId, save });
    this.#onSaved(profileId);
    if (replaced !== undefined) await this.#removeUnread(replaced);
    return save;
  }

  /** Changes the result of the session whose save was overwritten. Returns the result of the session that overwrote it. */
  #overwrite(version: string, sessionId: string): ProfileSave {
    const loser = this.#saves.get(version);
    if (!loser)
      return {
        status: 'overwrote',
        message: 'the profile was saved after this session had copied it: this save replaces the other one',
      };
    loser.save.status = 'overwritten';
    loser.save.message = `the browser session ${sessionId} saved the profile later, from a copy without the changes of this session`;
    loser.save.other_session_id = sessionId;
    return {
      status: 'overwrote',
      message: `the browser session ${loser.sessionId} saved the profile after this session had copied it: this save replaces the other one`,
      other_session_id: loser.sessionId,
    };
  }

  async #release(version: string): Promise<void> {
    const others = this.#readers.get(version)! - 1;
    if (others > 0) return void this.#readers.set(version, others);
    this.#readers.delete(version);
    if (this.#obsolete.delete(version)) await remove(path.join(this.#directory, version));
  }

  /** Removes a version that isn't current any more, as soon as nobody reads it. */
  async #removeUnread(version: string): Promise<void> {
    this.#saves.delete(version);
    this.#origins.delete(version);
    if (this.#readers.has(version)) this.#obsolete.add(version);
    else await remove(path.join(this.#directory, version));
  }
}

/** Loads the archive's code on first use, so that the service starts faster. */
async function readStorageOrigins(directory: string): Promise<string[]> {
  const { storageOrigins } = await import('../../archive/index.ts');
  return await storageOrigins(directory);
}

/** Extracts an uploaded archive. Throws `bad_request` if it is damaged. */
async function unpack(archive: AsyncIterable<Uint8Array>, directory: string, signal: AbortSignal): Promise<void> {
  const { ArchiveError, extract } = await import('../../archive/index.ts');
  try {
    await extract(archive, directory, { signal });
  } catch (error) {
    throw error instanceof ArchiveError
      ? new OperationError('bad_request', `the uploaded archive can't be used: ${error.message}`, { cause: error })
      : error;
  }
}

/** Removes a directory. Ignores errors: the next start of the service removes the rest. */
async function remove(directory: string): Promise<void> {
  await removeTree(directory).catch(() => {});
}

/** Copies the directory if it can't be renamed: to another file system, or on Windows while a process still uses it. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch {
    await copyTree(from, to);
  }
}

/** Waits until all files of a directory are on the disk. Returns their size in bytes. */
async function sync(directory: string): Promise<number> {
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const limited = pLimit(filesAtOnce);
  const sizes = await limited.map(files, async ({ parentPath, name }) => {
    const handle = await open(path.join(parentPath, name), 'r+');
    try {
      await handle.sync();
      return (await handle.stat()).size;
    } finally {
      await handle.close();
    }
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function refuseFullDisk(directory: string): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(directory);
  // Some file systems don't report their size.
  if (blocks > 0 && bavail * bsize < leastSpace) throw Object.assign(new Error(diskFull), { code: 'ENOSPC' });
}

const diskFull = 'the disk on which the service keeps its files is full: make room there';

function saveError(error: unknown): OperationError {
  if (error instanceof OperationError) return error;
  const code = isDiskFull(error) ? 'insufficient_storage' : 'profile_not_saved';
  const reason = isDiskFull(error) ? diskFull : (errorCode(error) ?? String(error));
  return new OperationError(code, `the profile could not be saved and is unchanged: ${reason}`, {
    cause: error,
  });
}

/** The file is in the user-data directory, so that copies and downloads contain the session cookies too. */
const sessionCookiesFile = 'session-cookies.json';

/** The session cookies that were saved with a user-data directory. Chromium itself forgets them when it ends. */
export async function readSessionCookies(directory: string): Promise<Cookie[]> {
  try {
    const flag = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);
    return JSON.parse(await readFile(path.join(directory, sessionCookiesFile), { encoding: 'utf8', flag })) as Cookie[];
  } catch {
    return [];
  }
}

async function writeSessionCookies(directory: string, cookies: Cookie[]): Promise<void> {
  const file = path.join(directory, sessionCookiesFile);
  await removeTree(file);
  if (cookies.length > 0) await writeFile(file, JSON.stringify(cookies), { mode: 0o600 });
}
