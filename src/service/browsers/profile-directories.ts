import { constants } from 'node:fs';
import { cp, mkdir, open, readdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ProfileSave } from '../../contract/browsers.ts';
import { OperationError } from '../../contract/errors.ts';
import { newId } from '../id.ts';
import { errorCode, isDiskFull } from '../system-error.ts';
import type { Cookie } from './cdp-protocol.ts';

/** Where it is kept which version of a profile was saved last. */
export type ProfileRecords = {
  /** `undefined` when nothing was saved yet, and when there is no such profile. */
  version(id: string): string | undefined;
  /** Those of all profiles. */
  versions(): string[];
  /** False when there is no such profile. No loss of power may undo it. */
  setVersion(id: string, version: string): boolean;
  /** Notes that a browser was started with the profile. */
  used(id: string): void;
  delete(id: string): void;
};

/** A copy of a profile's user-data directory, which belongs to one session. */
export type ProfileCopy = {
  /** What Chromium itself forgets as it ends. */
  readonly sessionCookies: Cookie[];
  /**
   * Makes the directory, which Chromium must have closed, the profile's own; it is gone from its place then. The last one that saves wins.
   * What is returned tells what became of it, and changes when a session with an older copy saves the profile afterwards.
   * Throws `insufficient_storage`, `profile_not_saved` and, for a deleted profile, `conflict`: the profile holds what it held then.
   */
  save(sessionId: string, sessionCookies: Cookie[]): Promise<ProfileSave>;
};

/** A version that stays until it is released. */
type ReadVersion = { version: string; directory: string; release: () => Promise<void> };

/** The copy of a profile with which a session ended. */
type SessionDirectory = { directory: string; copyOf: string | undefined; sessionId: string; sessionCookies: Cookie[] };

type Options = {
  directory: string;
  records: ProfileRecords;
  /** Called with the id of the profile whenever one was saved. */
  onSaved: (profileId: string) => void;
};

/** Chromium says nothing when it cannot write. With less than this left, in bytes, it may have happened. */
const leastSpace = 16 * 1024 * 1024;
const filesAtOnce = 8;

/**
 * The stored user-data directories of profiles. Each save makes a new version, a directory of its own; the record says which one counts.
 * A version that counts no more is removed as soon as nobody reads it.
 */
export class ProfileDirectories {
  readonly #directory: string;
  readonly #records: ProfileRecords;
  readonly #onSaved: (profileId: string) => void;
  /** How many read a version. */
  readonly #readers = new Map<string, number>();
  /** The versions that count no more and are still read. */
  readonly #obsolete = new Set<string>();
  /** Which session saved a version that counts, and what it was told. */
  readonly #saves = new Map<string, { sessionId: string; save: ProfileSave }>();

  private constructor({ directory, records, onSaved }: Options) {
    this.#directory = directory;
    this.#records = records;
    this.#onSaved = onSaved;
  }

  /** `directory` must be nobody else's. What an earlier service left there unfinished is removed. */
  static async open(options: Options): Promise<ProfileDirectories> {
    const directory = path.resolve(options.directory);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const versions = new Set(options.records.versions());
    const left = (await readdir(directory)).filter((name) => !versions.has(name));
    await Promise.all(left.map((name) => rm(path.join(directory, name), { recursive: true, force: true })));
    return new ProfileDirectories({ ...options, directory });
  }

  /** The version that counts; `undefined` when nothing was saved yet. */
  read(profileId: string): ReadVersion | undefined {
    const version = this.#records.version(profileId);
    if (version === undefined) return undefined;
    this.#readers.set(version, (this.#readers.get(version) ?? 0) + 1);
    return { version, directory: path.join(this.#directory, version), release: () => this.#release(version) };
  }

  /** Makes a copy for a session. Throws `insufficient_storage` when the disk is full, and the signal's reason. */
  async copy(profileId: string, directory: string, signal: AbortSignal): Promise<ProfileCopy> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const stored = this.read(profileId);
    try {
      if (stored) await copyDirectory(stored.directory, directory, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw isDiskFull(error) ? new OperationError('insufficient_storage', `the profile could not be copied: ${diskFull}`) : error;
    } finally {
      await stored?.release();
    }
    this.#records.used(profileId);
    return {
      sessionCookies: await readSessionCookies(directory),
      save: (sessionId, sessionCookies) => this.#save(profileId, { directory, copyOf: stored?.version, sessionId, sessionCookies }),
    };
  }

  /** Deletes a profile with what is stored of it. */
  async delete(profileId: string): Promise<void> {
    const version = this.#records.version(profileId);
    this.#records.delete(profileId);
    if (version !== undefined) await this.#removeUnread(version);
  }

  async #save(profileId: string, { directory, copyOf, sessionId, sessionCookies }: SessionDirectory): Promise<ProfileSave> {
    const version = newId();
    const stored = path.join(this.#directory, version);
    let replaced: string | undefined;
    try {
      await refuseFullDisk(directory);
      await writeSessionCookies(directory, sessionCookies);
      await move(directory, stored);
      await sync(stored);
      replaced = this.#records.version(profileId);
      if (!this.#records.setVersion(profileId, version)) {
        throw new OperationError('conflict', `the profile ${profileId} was deleted while the browser session ran: nothing was saved`);
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

  /** Tells both sides. */
  #overwrite(version: string, sessionId: string): ProfileSave {
    const loser = this.#saves.get(version);
    if (!loser) return { status: 'overwrote', message: 'the profile had been saved after this session took its copy; that is replaced' };
    loser.save.status = 'overwritten';
    loser.save.message = `the browser session ${sessionId} saved the profile afterwards, from a copy without what this session saved`;
    loser.save.other_session_id = sessionId;
    return {
      status: 'overwrote',
      message: `the browser session ${loser.sessionId} had saved the profile after this session took its copy; that is replaced`,
      other_session_id: loser.sessionId,
    };
  }

  async #release(version: string): Promise<void> {
    const others = this.#readers.get(version)! - 1;
    if (others > 0) return void this.#readers.set(version, others);
    this.#readers.delete(version);
    if (this.#obsolete.delete(version)) await remove(path.join(this.#directory, version));
  }

  /** Removes a version that counts no more, as soon as nobody reads it. */
  async #removeUnread(version: string): Promise<void> {
    this.#saves.delete(version);
    if (this.#readers.has(version)) this.#obsolete.add(version);
    else await remove(path.join(this.#directory, version));
  }
}

/** What cannot be removed now is when the service starts the next time. */
async function remove(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
}

async function copyDirectory(from: string, to: string, signal?: AbortSignal): Promise<void> {
  const filter = () => {
    signal?.throwIfAborted();
    return true;
  };
  await cp(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE, filter });
}

/** Another file system, or on Windows a process that still dies, is a reason to copy. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch {
    await copyDirectory(from, to);
  }
}

/** Waits until all files of a directory are on the disk. */
async function sync(directory: string): Promise<void> {
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const next = files.values();
  const syncSome = async () => {
    for (const file of next) {
      const handle = await open(path.join(file.parentPath, file.name), 'r+');
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    }
  };
  await Promise.all(Array.from({ length: filesAtOnce }, syncSome));
}

async function refuseFullDisk(directory: string): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(directory);
  // Some file systems don't know.
  if (blocks > 0 && bavail * bsize < leastSpace) throw Object.assign(new Error(diskFull), { code: 'ENOSPC' });
}

const diskFull = 'the disk on which the service keeps its files is full';

function saveError(error: unknown): OperationError {
  if (error instanceof OperationError) return error;
  const code = isDiskFull(error) ? 'insufficient_storage' : 'profile_not_saved';
  const reason = isDiskFull(error) ? diskFull : (errorCode(error) ?? String(error));
  return new OperationError(code, `the profile could not be saved, and holds what it held before: ${reason}`, { cause: error });
}

/** Beside Chromium's own files, so that whoever has the directory has them too. */
const sessionCookiesFile = 'session-cookies.json';

export async function readSessionCookies(directory: string): Promise<Cookie[]> {
  try {
    return JSON.parse(await readFile(path.join(directory, sessionCookiesFile), 'utf8')) as Cookie[];
  } catch {
    return [];
  }
}

async function writeSessionCookies(directory: string, cookies: Cookie[]): Promise<void> {
  const file = path.join(directory, sessionCookiesFile);
  await rm(file, { force: true });
  if (cookies.length > 0) await writeFile(file, JSON.stringify(cookies), { mode: 0o600 });
}
