import pLimit from 'p-limit';
import type { FileEvent } from '../../contract/files.ts';
import { Watch } from './watch.ts';
import { WatchedTree, type WatchedTreeOptions } from './watched-tree.ts';

/**
 * While notices keep coming, the first 40 looks at the tree follow their notices at once. Each further look waits for
 * `pauseMs`. The count begins anew after `calmMs` without a look.
 */
const looksAtOnce = 40;
const pauseMs = 25;
const calmMs = 100;

/**
 * A watched path with all watches of it. When the system gives notice of a change, it compares the path's files with
 * their former state (a *look*), and passes the changes to the watches. Otherwise it does nothing.
 */
export class SharedTree {
  readonly #tree: WatchedTree;
  readonly #onClosed: () => void;
  readonly #watches = new Set<Watch>();
  readonly #inTurn = pLimit(1);
  #timer: NodeJS.Timeout | undefined;
  /** The number of looks since the notices last paused. */
  #looks = 0;
  #lookedAt = 0;
  #isClosed = false;

  private constructor(tree: WatchedTree, onClosed: () => void) {
    this.#tree = tree;
    this.#onClosed = onClosed;
  }

  /** `onClosed` is called after the last watch has stopped. Throws like `WatchedTree.open`. */
  static async open({ onNotice, ...options }: WatchedTreeOptions, onClosed: () => void): Promise<SharedTree> {
    let shared: SharedTree | undefined;
    const tree = await WatchedTree.open({
      ...options,
      onNotice() {
        onNotice();
        if (shared) shared.#schedule();
      },
    });
    shared = new SharedTree(tree, onClosed);
    return shared;
  }

  /** Adds a watch for the changes from now on. Returns `undefined` if the tree is closed. */
  async watch(): Promise<Watch | undefined> {
    return await this.#inTurn(async () => {
      // Earlier changes are for the other watches only.
      if (this.#watches.size > 0) {
        this.#tree.suspectAll();
        await this.#look();
      }
      if (this.#isClosed) return undefined;
      const watch: Watch = new Watch({
        onRead: () => void this.#inTurn(() => this.#catchUp(watch)),
        onStop: () => this.#leave(watch),
      });
      this.#watches.add(watch);
      this.#schedule();
      return watch;
    });
  }

  /** Looks at the whole tree, because the system may have dropped notices. */
  suspectAll(): void {
    this.#tree.suspectAll();
    this.#schedule();
  }

  #schedule(): void {
    const isWanted = [...this.#watches].some((watch) => !watch.isFull);
    if (this.#timer || !isWanted || !this.#tree.isSuspicious) return;
    if (performance.now() - this.#lookedAt > calmMs) this.#looks = 0;
    this.#looks += 1;
    // Looks after a moment, because a rename causes two notices.
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        void this.#inTurn(() => this.#look());
      },
      this.#looks > looksAtOnce ? pauseMs : 1,
    );
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    if (this.#isClosed) return;
    for (const watch of this.#watches) if (watch.isFull && !watch.missed) this.#fallBehind(watch);
    try {
      const events = await this.#tree.look();
      for (const watch of this.#watches) this.#tell(watch, events);
    } catch (error) {
      for (const watch of this.#watches) watch.fail(error);
    }
    this.#lookedAt = performance.now();
    this.#schedule();
  }

  #tell(watch: Watch, events: FileEvent[]): void {
    if (!watch.missed) watch.push(events);
    else this.#catchUp(watch);
  }

  #fallBehind(watch: Watch): void {
    try {
      watch.missed = this.#tree.snapshot();
    } catch (error) {
      watch.fail(error);
    }
  }

  #catchUp(watch: Watch): void {
    if (watch.missed && watch.isRead) {
      const events = this.#tree.changesSince(watch.missed);
      watch.missed = undefined;
      watch.push(events);
    }
    this.#schedule();
  }

  #leave(watch: Watch): void {
    if (watch.missed) this.#tree.release(watch.missed);
    this.#watches.delete(watch);
    if (this.#watches.size > 0) return this.#schedule();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#tree.close();
    this.#onClosed();
  }
}
