import { watch, type FSWatcher, type Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { OperationError } from '../../contract/errors.ts';
import type { FileEvent } from '../../contract/files.ts';
import { errorCode } from '../process/system-error.ts';
import { withEntry } from '../sessions/confined-path.ts';
import {
  changesBetween,
  fileEvent,
  fileEvents,
  identityOf,
  sightOf,
  wasWritten,
  type FileChanges,
  type Seen,
  type Sight,
} from './file-changes.ts';
import { fileError } from './file-errors.ts';
import { statsOrMissing } from './files.ts';
import { isUpload } from './receive.ts';
import type { WatchedPlace } from './watched-place.ts';

type Entry = Sight & { directory?: Directory };

/** How often the system gave notice that a name appeared or disappeared, and that its file changed. */
type Notices = { moves: number; changes: number };

/** A directory that is watched. */
type Directory = {
  /** Its path in the tree, with a slash at the end. Empty at the top. */
  path: string;
  identity: string;
  /** Its parent and its name there. Missing at the top. */
  above?: { directory: Directory; name: string };
  entries: Map<string, Entry>;
  watcher: FSWatcher;
  /** The names with notices since the last look, or all names. */
  suspects: Map<string, Notices> | 'all';
  /** Names that a look found missing before their notice arrived. */
  early: Set<string>;
  /** Whether the directory may have been deleted and created again, so that the watcher belongs to the old one. */
  isDoubtful: boolean;
};

/** With more names than this, the next look reads the whole directory. */
const mostSuspects = 10_000;
const looksAtOnce = 64;

/** The files and directories that the watches of a session follow, and their limit. */
export type EntryCount = { count: number; readonly most: number };

export type WatchedTreeOptions = {
  root: string;
  place: WatchedPlace;
  /** Whether to watch directories below, too. */
  recursive: boolean;
  entries: EntryCount;
  /** Called at each notice of the system for the tree. */
  onNotice: () => void;
};

/**
 * A watched directory of the session, or a single file, in the state of the last look. The notices of the system
 * (`fs.watch`) only say where to look. The comparison with the last look finds the changes, so that late or lost
 * notices hide no change.
 */
export class WatchedTree {
  readonly #root: string;
  readonly #recursive: boolean;
  readonly #onNotice: () => void;
  readonly #entries: EntryCount;
  readonly #place: WatchedPlace;
  #top: Directory | undefined;
  #isClosed = false;
  readonly #suspicious = new Set<Directory>();

  private constructor({ root, place, recursive, entries, onNotice }: WatchedTreeOptions) {
    this.#root = root;
    this.#place = place;
    this.#recursive = recursive;
    this.#entries = entries;
    this.#onNotice = onNotice;
  }

  /** Throws `not_found`, and `capacity_exhausted` if the tree or the system has too much to watch. */
  static async open(options: WatchedTreeOptions): Promise<WatchedTree> {
    const tree = new WatchedTree(options);
    const { sessionPath, identity } = options.place;
    try {
      if (await tree.#watch({ path: '', identity }, [], (top) => (tree.#top = top))) return tree;
      throw new OperationError('not_found', `path not found: ${JSON.stringify(sessionPath)}`);
    } catch (error) {
      tree.close();
      throw fileError(error, sessionPath, { missing: 'path' });
    }
  }

  close(): void {
    this.#isClosed = true;
    if (this.#top) this.#leaveAll(this.#top, []);
    this.#top = undefined;
  }

  /** Whether there was a notice since the last look. */
  get isSuspicious(): boolean {
    return this.#suspicious.size > 0;
  }

  /** Makes the next look read the whole tree. */
  suspectAll(directory = this.#top): void {
    if (!directory) return;
    this.#suspect(directory, null, 'self');
    for (const entry of directory.entries.values()) if (entry.directory) this.suspectAll(entry.directory);
  }

  /**
   * Scans the directories with notices and returns the changes. Several changes of a file between two looks may become
   * one event. Throws `capacity_exhausted` if the tree or the system has too much to watch.
   */
  async look(): Promise<FileEvent[]> {
    const changes: FileChanges = { gone: [], come: [], replaced: [], written: [], passed: [] };
    const directories = [...this.#suspicious];
    this.#suspicious.clear();
    let hasEnded = false;
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
        // A directory below is reported by its parent.
        this.#leaveAll(directory, changes.gone);
        this.#top = undefined;
        hasEnded = true;
      }
    }
    return this.#events(changes, hasEnded);
  }

  /**
   * The entries by their paths in the tree. They count as followed until `changesSince` or `release`. Throws
   * `capacity_exhausted`.
   */
  snapshot(): Map<string, Sight> {
    const sights = this.#sights();
    this.#refuseMore(sights.size);
    this.#entries.count += sights.size;
    return sights;
  }

  release(snapshot: Map<string, Sight>): void {
    this.#entries.count -= snapshot.size;
  }

  /** The changes from a snapshot until the last look. Releases the snapshot. */
  changesSince(snapshot: Map<string, Sight>): FileEvent[] {
    this.release(snapshot);
    return this.#events(changesBetween(snapshot, this.#sights()), this.#top === undefined);
  }

  #sights(): Map<string, Sight> {
    const sights = new Map<string, Sight>();
    const add = ({ path, entries }: Directory) => {
      for (const [name, { directory, ...sight }] of entries) {
        sights.set(path + name, sight);
        if (directory) add(directory);
      }
    };
    if (this.#top) add(this.#top);
    return sights;
  }

  /** A deleted directory reports its own end last. A deleted file may come back. */
  #events(changes: FileChanges, hasEnded: boolean): FileEvent[] {
    const { sessionPath, only } = this.#place;
    const end = hasEnded && only === undefined ? [fileEvent('DELETE', sessionPath, true)] : [];
    return [...fileEvents(changes, (inTree) => this.#sessionPath(inTree)), ...end];
  }

  /**
   * Watches a directory, with `recursive` also those below. Adds their entries to `come`. Calls `attach` before
   * anything can fail. Returns false if the directory doesn't exist any more.
   */
  async #watch(
    place: Pick<Directory, 'path' | 'identity' | 'above'>,
    come: Seen[],
    attach: (directory: Directory) => void,
  ): Promise<boolean> {
    const opened = await this.#inside(place, async (host) => {
      if (this.#isClosed) return undefined;
      const watcher = listen(host);
      const directory: Directory = {
        ...place,
        entries: new Map(),
        watcher,
        suspects: new Map(),
        early: new Set(),
        isDoubtful: false,
      };
      this.#follow(directory);
      attach(directory);
      // The watcher is there first, so that no change is lost.
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
    // Some systems fail the watcher of a deleted directory.
    watcher.on('error', doubt);
  }

  /** `name` is null if the system doesn't know it. */
  #suspect(directory: Directory, name: string | null, notice: 'rename' | 'change' | 'self'): void {
    if (name !== null && name !== '.' && !this.#isWatched(name)) return;
    if (name === null || directory.suspects === 'all' || directory.suspects.size >= mostSuspects) {
      directory.suspects = 'all';
    } else {
      const { moves, changes } = directory.suspects.get(name) ?? { moves: 0, changes: 0 };
      directory.suspects.set(name, {
        moves: moves + Number(notice === 'rename'),
        changes: changes + Number(notice === 'change'),
      });
    }
    this.#suspicious.add(directory);
  }

  #isWatched(name: string): boolean {
    return !isUpload(name) && (this.#place.only === undefined || this.#place.only === name);
  }

  /** Finds entries that appeared and disappeared since the last look. Only their notices show that they existed. */
  #noteMoves(
    { path, entries, early }: Directory,
    name: string,
    notices: Notices,
    isThere: boolean,
    { passed }: FileChanges,
  ): void {
    const moves = notices.moves - Number(early.delete(name));
    if (isThere) return;
    const isGone = entries.has(name);
    if (!isGone && moves > 0) passed.push({ path: path + name, isWritten: notices.changes > 0 });
    // The number of moves must be odd for an entry that existed, and even for another one. Otherwise one more notice
    // will come.
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
    if (this.#isClosed) return;
    this.#refuseMore(1);
    this.#entries.count += 1;
    const entry: Entry = sightOf(stats);
    const inTree = directory.path + name;
    directory.entries.set(name, entry);
    come.push({ path: inTree, sight: entry });
    if (!this.#recursive || !entry.isDirectory) return;
    const place = { path: `${inTree}/`, identity: entry.identity, above: { directory, name } };
    await this.#watch(place, come, (below) => (entry.directory = below));
  }

  #leave(directory: Directory, name: string, entry: Entry, gone: Seen[]): void {
    if (directory.entries.delete(name)) this.#entries.count -= 1;
    if (entry.directory) this.#leaveAll(entry.directory, gone);
    gone.push({ path: directory.path + name, sight: entry });
  }

  #leaveAll(directory: Directory, gone: Seen[]): void {
    directory.watcher.close();
    this.#suspicious.delete(directory);
    for (const [name, entry] of directory.entries) this.#leave(directory, name, entry, gone);
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

  async #read(
    host: string,
    { entries }: Directory,
    suspects: Directory['suspects'],
  ): Promise<[name: string, stats: Stats | undefined][]> {
    const names = suspects === 'all' ? new Set([...entries.keys(), ...(await readdir(host))]) : suspects.keys();
    // Checks the limit before the entries take memory.
    if (names instanceof Set && this.#place.only === undefined) this.#refuseMore(names.size - entries.size);
    const watched = Array.from(names).filter((name) => name !== '.' && this.#isWatched(name));
    const found: [string, Stats | undefined][] = [];
    for (let start = 0; start < watched.length; start += looksAtOnce) {
      const some = watched.slice(start, start + looksAtOnce);
      const stats = await Promise.all(some.map((name) => statsOrMissing(`${host}/${name}`)));
      found.push(...some.map((name, index): [string, Stats | undefined] => [name, stats[index]]));
    }
    return found;
  }

  #refuseMore(count: number): void {
    const { most } = this.#entries;
    if (this.#entries.count + count <= most) return;
    throw new OperationError(
      'capacity_exhausted',
      `the watches of a session may follow ${most} files and directories in all, and with ${JSON.stringify(this.#place.sessionPath)} they would follow more: watch a smaller directory, or stop other watches`,
    );
  }

  /**
   * Calls `use` with the host path of a directory that nobody can exchange meanwhile. Returns `undefined` if the
   * directory is gone.
   */
  async #inside<T>(
    { path, identity }: Pick<Directory, 'path' | 'identity'>,
    use: (host: string) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      // The entry doesn't exist. Only its directory matters.
      return await withEntry(this.#root, `${this.#place.base}/${path}x`, {}, async (_, host) => {
        return identityOf(await stat(host)) === identity ? await use(host) : undefined;
      });
    } catch (error) {
      if (error instanceof OperationError && error.code !== 'capacity_exhausted') return undefined;
      if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(errorCode(error) ?? '')) return undefined;
      throw error;
    }
  }

  #sessionPath(inTree: string): string {
    return this.#place.only === undefined
      ? `${this.#place.sessionPath === '/' ? '' : this.#place.sessionPath}/${inTree}`
      : this.#place.sessionPath;
  }
}

/** Watches a directory. Because of `/.`, notices about the directory itself have the name `.`. */
function listen(host: string): FSWatcher {
  try {
    return watch(`${host}/.`, { persistent: false });
  } catch (error) {
    if (!['ENOSPC', 'EMFILE', 'ENFILE'].includes(errorCode(error) ?? '')) throw error;
    throw new OperationError(
      'capacity_exhausted',
      'the system can watch no more directories: stop other watches, or watch a smaller directory',
    );
  }
}
