import { watch, type FSWatcher, type Stats } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import type { FileEvent } from '../../contract/files.ts';
import { errorCode } from '../system-error.ts';
import { withEntry } from './confined-path.ts';
import { fileEvent, fileEvents, identityOf, sightOf, wasWritten, type FileChanges, type Seen, type Sight } from './file-changes.ts';
import { fileError } from './file-errors.ts';
import { shown, statsOrMissing } from './files.ts';
import { isUpload } from './receive.ts';

type Entry = Sight & { directory?: Directory };

/** What the system said of a name: how often it came or went, and how often it was changed. */
type Notices = { moves: number; changes: number };

/** A directory that is watched. */
type Directory = {
  /** Its path in the tree with a slash at the end; empty at the top. */
  path: string;
  identity: string;
  /** Where it is; nowhere at the top. */
  above?: { directory: Directory; name: string };
  entries: Map<string, Entry>;
  watcher: FSWatcher;
  /** The names to which something has happened, or all. */
  suspects: Map<string, Notices> | 'all';
  /** Names that were seen to be gone before the system said so. */
  early: Set<string>;
  /** Whether it may have been deleted and made anew, so that the watcher is that of the old one. */
  isDoubtful: boolean;
};

/** Of more names the whole directory is looked at. */
const mostSuspects = 10_000;
const looksAtOnce = 64;

export type WatchedTreeOptions = {
  root: string;
  /** A directory, or a file. */
  sessionPath: string;
  /** Whether directories below are watched too. */
  recursive: boolean;
  /** Called for whatever the system says of the tree. */
  onNotice: () => void;
};

/**
 * A directory of the session, or a single file, as it was when somebody looked last. The system's watchers only say where to look: what
 * has happened is found by comparing, so that nothing is missed when they come late or lose count.
 */
export class WatchedTree {
  readonly #root: string;
  readonly #recursive: boolean;
  readonly #onNotice: () => void;
  /** The session's path of the topmost directory, without links; empty for the root. */
  #base = '';
  /** The session's path by which the tree is known. */
  readonly #shown: string;
  /** The name of the only file that is watched, if it is one. */
  #only: string | undefined;
  #top: Directory | undefined;
  #isClosed = false;
  readonly #suspicious = new Set<Directory>();

  private constructor({ root, sessionPath, recursive, onNotice }: WatchedTreeOptions) {
    this.#shown = shown(sessionPath);
    this.#root = root;
    this.#recursive = recursive;
    this.#onNotice = onNotice;
  }

  /** Throws `not_found`, `forbidden`, and `capacity_exhausted` when the system watches too much. */
  static async open(options: WatchedTreeOptions): Promise<WatchedTree> {
    const tree = new WatchedTree(options);
    const use = { followLink: true, missing: 'path' };
    try {
      await withEntry(options.root, options.sessionPath, use, (entry, directory) => tree.#begin(entry, directory));
    } catch (error) {
      tree.close();
      throw fileError(error, options.sessionPath, use);
    }
    return tree;
  }

  close(): void {
    this.#isClosed = true;
    if (this.#top) this.#leaveAll(this.#top, []);
    this.#top = undefined;
  }

  /** Whether a look may find something. */
  get isSuspicious(): boolean {
    return this.#suspicious.size > 0;
  }

  /** Makes the next look one at everything. */
  suspectAll(directory = this.#top): void {
    if (!directory) return;
    this.#suspect(directory, null, 'self');
    for (const entry of directory.entries.values()) if (entry.directory) this.suspectAll(entry.directory);
  }

  /**
   * Looks where something has happened, and tells what. What happens to a file between two looks may be told as one change. Throws
   * `capacity_exhausted` when there are more directories now than the system watches.
   */
  async look(): Promise<FileEvent[]> {
    const changes: FileChanges = { gone: [], come: [], replaced: [], written: [], passed: [] };
    const directories = [...this.#suspicious];
    this.#suspicious.clear();
    const end: FileEvent[] = [];
    for (const directory of directories) {
      const { suspects } = directory;
      directory.suspects = new Map();
      if (suspects === 'all') directory.early.clear();
      const found = await this.#inside(directory, (host) => this.#read(host, directory, suspects));
      if (found) {
        for (const [name, stats] of found) {
          if (suspects !== 'all') this.#noteMoves(directory, name, suspects.get(name)!, stats !== undefined, changes);
          await this.#compare(directory, name, stats, changes);
        }
      } else if (directory === this.#top) {
        // Of the end of another one the directory above tells.
        end.push(...this.#leaveTop(directory, changes.gone));
      }
    }
    return [...fileEvents(changes, (inTree) => this.#sessionPath(inTree)), ...end];
  }

  async #begin(entry: string, directory: string): Promise<void> {
    const stats = await lstat(entry);
    const host = await realpath(stats.isDirectory() ? entry : directory);
    this.#base = host.slice((await realpath(this.#root)).length).replaceAll(path.sep, '/');
    if (!stats.isDirectory()) this.#only = path.basename(entry);
    const place = { path: '', identity: identityOf(await stat(host)) };
    const isThere = await this.#watch(place, [], (top) => (this.#top = top));
    if (!isThere) throw new OperationError('not_found', `path not found: ${JSON.stringify(this.#shown)}`);
  }

  /**
   * Watches a directory, and those below where that was asked for. What is in them is added to `come`. `attach` is called before anything
   * can fail. False when the directory is not there any more.
   */
  async #watch(
    place: Pick<Directory, 'path' | 'identity' | 'above'>,
    come: Seen[],
    attach: (directory: Directory) => void,
  ): Promise<boolean> {
    const opened = await this.#inside(place, async (host) => {
      if (this.#isClosed) return undefined;
      const watcher = listen(host);
      const directory: Directory = { ...place, entries: new Map(), watcher, suspects: new Map(), early: new Set(), isDoubtful: false };
      this.#follow(directory);
      attach(directory);
      // After the watcher was made: what happens from now on is noticed.
      return { directory, found: await this.#read(host, directory, 'all') };
    });
    for (const [name, stats] of opened?.found ?? []) if (stats) await this.#enter(opened!.directory, name, stats, come);
    return opened !== undefined;
  }

  #follow(directory: Directory): void {
    const { watcher, above } = directory;
    const doubt = () => {
      directory.isDoubtful = true;
      if (above) this.#suspect(above.directory, above.name, 'self');
      else this.#suspect(directory, '.', 'self');
      this.#onNotice();
    };
    watcher.on('change', (type, name) => {
      if (watcher !== directory.watcher) return;
      if (name === '.') return type === 'rename' ? doubt() : this.#onNotice();
      this.#suspect(directory, name as string | null, type as 'rename' | 'change');
      this.#onNotice();
    });
    // Some systems fail the watcher of a directory that is deleted.
    watcher.on('error', doubt);
  }

  /** `name` is null when it is not known. */
  #suspect(directory: Directory, name: string | null, notice: 'rename' | 'change' | 'self'): void {
    if (name !== null && name !== '.' && !this.#isWatched(name)) return;
    if (name === null || directory.suspects === 'all' || directory.suspects.size >= mostSuspects) {
      directory.suspects = 'all';
    } else {
      const { moves, changes } = directory.suspects.get(name) ?? { moves: 0, changes: 0 };
      directory.suspects.set(name, { moves: moves + Number(notice === 'rename'), changes: changes + Number(notice === 'change') });
    }
    this.#suspicious.add(directory);
  }

  #isWatched(name: string): boolean {
    return !isUpload(name) && (this.#only === undefined || this.#only === name);
  }

  /** Finds out, from what the system said, what has come and gone since the last look. */
  #noteMoves({ path, entries, early }: Directory, name: string, notices: Notices, isThere: boolean, { passed }: FileChanges): void {
    const moves = notices.moves - Number(early.delete(name));
    if (isThere) return;
    const isGone = entries.has(name);
    if (!isGone && moves > 0) passed.push({ path: path + name, isWritten: notices.changes > 0 });
    // What is gone has come and gone in pairs, but for its end if it was there: the system will say the rest in a moment.
    if ((isGone || moves > 0) && (moves % 2 === 0) === isGone) early.add(name);
  }

  async #compare(directory: Directory, name: string, stats: Stats | undefined, changes: FileChanges): Promise<void> {
    const known = directory.entries.get(name);
    if (!known) {
      if (stats) await this.#enter(directory, name, stats, changes.come);
      return;
    }
    if (!stats) return this.#leave(directory, name, known, changes.gone);
    const now = sightOf(stats);
    const inTree = directory.path + name;
    if (known.identity === now.identity) {
      if (known.directory?.isDoubtful) await this.#watchAnew(known.directory);
      if (!known.isDirectory && wasWritten(known, now)) changes.written.push({ path: inTree, sight: now });
      Object.assign(known, now);
    } else if (known.isDirectory || now.isDirectory) {
      this.#leave(directory, name, known, changes.gone);
      await this.#enter(directory, name, stats, changes.come);
    } else {
      directory.entries.set(name, now);
      changes.replaced.push({ path: inTree, old: known, now });
    }
  }

  async #enter(directory: Directory, name: string, stats: Stats, come: Seen[]): Promise<void> {
    const entry: Entry = sightOf(stats);
    const inTree = directory.path + name;
    directory.entries.set(name, entry);
    come.push({ path: inTree, sight: entry });
    if (!this.#recursive || !entry.isDirectory) return;
    const place = { path: `${inTree}/`, identity: entry.identity, above: { directory, name } };
    await this.#watch(place, come, (below) => (entry.directory = below));
  }

  #leave(directory: Directory, name: string, entry: Entry, gone: Seen[]): void {
    directory.entries.delete(name);
    if (entry.directory) this.#leaveAll(entry.directory, gone);
    gone.push({ path: directory.path + name, sight: entry });
  }

  #leaveAll(directory: Directory, gone: Seen[]): void {
    directory.watcher.close();
    this.#suspicious.delete(directory);
    for (const [name, entry] of directory.entries) this.#leave(directory, name, entry, gone);
  }

  #leaveTop(top: Directory, gone: Seen[]): FileEvent[] {
    this.#leaveAll(top, gone);
    this.#top = undefined;
    return this.#only === undefined ? [fileEvent('DELETE', this.#shown, true)] : [];
  }

  async #watchAnew(directory: Directory): Promise<void> {
    await this.#inside(directory, async (host) => {
      if (this.#isClosed) return;
      directory.watcher.close();
      Object.assign(directory, { watcher: listen(host), isDoubtful: false });
      this.#follow(directory);
      this.#suspect(directory, null, 'self');
    });
  }

  async #read(host: string, { entries }: Directory, suspects: Directory['suspects']): Promise<[name: string, stats: Stats | undefined][]> {
    const names = suspects === 'all' ? new Set([...entries.keys(), ...(await readdir(host))]) : suspects.keys();
    const watched = Array.from(names).filter((name) => name !== '.' && this.#isWatched(name));
    const found: [string, Stats | undefined][] = [];
    for (let start = 0; start < watched.length; start += looksAtOnce) {
      const some = watched.slice(start, start + looksAtOnce);
      const stats = await Promise.all(some.map((name) => statsOrMissing(`${host}/${name}`)));
      found.push(...some.map((name, index): [string, Stats | undefined] => [name, stats[index]]));
    }
    return found;
  }

  /** Calls `use` with the host's path of a directory, which nobody can exchange meanwhile; `undefined` when it is not there any more. */
  async #inside<T>({ path, identity }: Pick<Directory, 'path' | 'identity'>, use: (host: string) => Promise<T>): Promise<T | undefined> {
    try {
      // Of some entry, that is; what counts is where it would be.
      return await withEntry(this.#root, `${this.#base}/${path}x`, {}, async (_, host) => {
        return identityOf(await stat(host)) === identity ? await use(host) : undefined;
      });
    } catch (error) {
      if (error instanceof OperationError && error.code !== 'capacity_exhausted') return undefined;
      if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(errorCode(error) ?? '')) return undefined;
      throw error;
    }
  }

  #sessionPath(inTree: string): string {
    return this.#only === undefined ? `${this.#shown === '/' ? '' : this.#shown}/${inTree}` : this.#shown;
  }
}

/** What happens to the directory itself has the name `.` then. */
function listen(host: string): FSWatcher {
  try {
    return watch(`${host}/.`, { persistent: false });
  } catch (error) {
    if (!['ENOSPC', 'EMFILE', 'ENFILE'].includes(errorCode(error) ?? '')) throw error;
    throw new OperationError('capacity_exhausted', 'the system watches too many directories already: stop other watches, or watch less');
  }
}
