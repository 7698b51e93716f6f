import { EventEmitter, once } from 'node:events';
import type { FileEvent } from '../../contract/files.ts';
import { WatchedTree, type WatchedTreeOptions } from './watched-tree.ts';

/** Changes one after the other are looked at as they come. When that goes on and on, there is a pause before each look. */
const looksAtOnce = 40;
const pauseMs = 25;
const calmMs = 100;

/** With so many events unread nobody looks any further: what happens meanwhile shows when somebody has read them. */
const mostUnread = 1000;

/** Tells what changes in a file or directory of a session, until it is stopped. It does nothing while nothing happens. */
export class Watch {
  readonly #tree: WatchedTree;
  #unread: FileEvent[] = [];
  #taken = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  /** Since the last calm. */
  #looks = 0;
  #lookedAt = 0;
  #isStopped = false;
  #failure: unknown;
  readonly #news = new EventEmitter().setMaxListeners(0);

  private constructor(tree: WatchedTree) {
    this.#tree = tree;
  }

  /** Rejects as `WatchedTree.open` does. */
  static async start({ onNotice, ...options }: WatchedTreeOptions): Promise<Watch> {
    let watch: Watch | undefined;
    const tree = await WatchedTree.open({
      ...options,
      onNotice() {
        onNotice();
        if (watch) watch.#schedule();
      },
    });
    watch = new Watch(tree);
    watch.#schedule();
    return watch;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#tree.close();
    this.#news.emit('news');
  }

  /** To be called when the system may have lost count of what happened. */
  suspectAll(): void {
    this.#tree.suspectAll();
    this.#schedule();
  }

  /**
   * What was not read yet, and what comes until the watch is stopped or `signal` aborts. Several readers share the events.
   * Throws when the watch has failed, and so do the events when it fails.
   */
  events(signal: AbortSignal): AsyncIterable<FileEvent> {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#read(signal);
  }

  async *#read(signal: AbortSignal): AsyncGenerator<FileEvent> {
    while (!signal.aborted) {
      const event = this.#take();
      if (event) yield event;
      else if (this.#failure !== undefined) throw this.#failure;
      else if (this.#isStopped) return;
      else await once(this.#news, 'news', { signal }).catch(() => {});
    }
  }

  #take(): FileEvent | undefined {
    const event = this.#unread[this.#taken];
    if (!event) return undefined;
    this.#taken += 1;
    if (this.#taken === this.#unread.length) {
      this.#unread = [];
      this.#taken = 0;
      this.#schedule();
    }
    return event;
  }

  #schedule(): void {
    const isFull = this.#unread.length >= mostUnread;
    if (this.#isStopped || this.#isLooking || this.#timer || isFull || !this.#tree.isSuspicious) return;
    if (performance.now() - this.#lookedAt > calmMs) this.#looks = 0;
    this.#looks += 1;
    // Never at once: the two halves of a renaming are noticed one after the other.
    this.#timer = setTimeout(() => void this.#look(), this.#looks > looksAtOnce ? pauseMs : 1);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    this.#isLooking = true;
    try {
      const events = await this.#tree.look();
      this.#unread = this.#unread.slice(this.#taken).concat(events);
      this.#taken = 0;
    } catch (error) {
      if (!this.#isStopped) this.#failure = error;
      this.stop();
    }
    this.#isLooking = false;
    this.#lookedAt = performance.now();
    this.#news.emit('news');
    this.#schedule();
  }
}
