import { readFileSync } from 'node:fs';
import { OperationError } from '../../contract/errors.ts';
import { newId } from '../process/id.ts';
import type { Lease } from '../sessions/lease.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import { SharedTree } from './shared-tree.ts';
import type { Watch } from './watch.ts';
import { locate } from './watched-place.ts';
import type { EntryCount } from './watched-tree.ts';

const mostPerSession = 100;

type Watched = Pick<LocalSession, 'id' | 'root' | 'lease'>;

/** The watches of one holder of a session. */
type HeldWatches = {
  /** A watch that is starting is `undefined`. */
  byId: Map<string, Watch | undefined>;
  /** Watches of the same path share a tree. */
  trees: Map<string, Promise<SharedTree>>;
  entries: EntryCount;
};

/** Starts, finds and stops the file watches of all sessions. They stop when their session ends or its lease does. */
export class Watches {
  readonly #mostEntries: number;
  readonly #trees = new Set<SharedTree>();
  /** The number of notices in this turn of the event loop. */
  #notices = 0;
  /** The system silently drops notices beyond its queue's limit. From a quarter of it on, all trees are looked at. */
  readonly #tooManyNotices = mostQueued() / 4;

  /** `mostEntries`: how many files and directories the watches of a session may follow. */
  constructor(mostEntries = 100_000) {
    this.#mostEntries = mostEntries;
  }

  /** Returns the id of the watch. Throws `not_found`, `forbidden`, `conflict` and `capacity_exhausted`. */
  async start(
    session: Watched,
    { path: sessionPath, recursive }: { path: string; recursive: boolean },
  ): Promise<string> {
    const { lease } = session;
    const { byId } = this.#of(lease);
    if (byId.size >= mostPerSession) {
      throw new OperationError(
        'conflict',
        `the browser session ${session.id} has ${mostPerSession} watches already: stop one first`,
      );
    }
    const id = newId();
    byId.set(id, undefined);
    try {
      const watch = await this.#watch(session.root, lease, { path: sessionPath, recursive });
      if (lease.signal.aborted) {
        watch.stop();
        throw new OperationError('not_found', `the browser session ${session.id} has ended`);
      }
      byId.set(id, watch);
      return id;
    } catch (error) {
      byId.delete(id);
      throw error;
    }
  }

  /** Throws `not_found`. */
  get({ lease }: Watched, id: string): Watch {
    const watch = this.#of(lease).byId.get(id);
    if (watch) return watch;
    throw new OperationError('not_found', `watch not found: ${id}`);
  }

  /** Throws `not_found`. */
  stop(session: Watched, id: string): void {
    const watch = this.get(session, id);
    this.#of(session.lease).byId.delete(id);
    watch.stop();
  }

  async #watch(root: string, lease: Lease, wanted: { path: string; recursive: boolean }): Promise<Watch> {
    const { trees, entries } = this.#of(lease);
    const { recursive } = wanted;
    const place = await locate(root, wanted.path);
    const key = JSON.stringify([place, recursive]);
    let opening = trees.get(key);
    if (!opening) {
      const options = { root, place, recursive, entries, onNotice: () => this.#noticed() };
      opening = SharedTree.open(options, () => {
        trees.delete(key);
        void opening?.then((tree) => this.#trees.delete(tree));
      });
      trees.set(key, opening);
    }
    try {
      const tree = await opening;
      this.#trees.add(tree);
      const watch = await tree.watch();
      if (watch) return watch;
      this.#trees.delete(tree);
    } catch (error) {
      trees.delete(key);
      throw error;
    }
    // The last watch of the tree stopped meanwhile.
    return await this.#watch(root, lease, wanted);
  }

  #of(lease: Lease): HeldWatches {
    return lease.part(this, () => {
      const byId: HeldWatches['byId'] = new Map();
      lease.signal.addEventListener('abort', () => {
        for (const watch of byId.values()) watch?.stop();
      });
      return { byId, trees: new Map(), entries: { count: 0, most: this.#mostEntries } };
    });
  }

  /** All watchers of a process share one queue of the system. One turn of the event loop reads the whole queue. */
  #noticed(): void {
    this.#notices += 1;
    if (this.#notices === 1) setImmediate(() => (this.#notices = 0));
    if (this.#notices === this.#tooManyNotices) for (const tree of this.#trees) tree.suspectAll();
  }
}

function mostQueued(): number {
  try {
    return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'));
  } catch {
    return 16_384;
  }
}
