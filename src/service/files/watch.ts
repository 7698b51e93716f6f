import { EventEmitter, once } from 'node:events';
import type { FileEvent } from '../../contract/files.ts';
import type { Sight } from './file-changes.ts';

/** A watch with this many unread events gets no more. A later comparison finds the changes that it missed. */
const mostUnread = 1000;

/** One watch of a file or directory: queues the events of its changes until the caller reads them. */
export class Watch {
  /** While the watch is full: the state of the tree after its unread events. The difference to it is reported later. */
  missed: Map<string, Sight> | undefined;
  readonly #onRead: () => void;
  readonly #onStop: () => void;
  #unread: FileEvent[] = [];
  #taken = 0;
  #isStopped = false;
  #failure: unknown;
  readonly #news = new EventEmitter().setMaxListeners(0);

  /** `onRead` is called when all events were read, `onStop` once. */
  constructor({ onRead, onStop }: { onRead: () => void; onStop: () => void }) {
    this.#onRead = onRead;
    this.#onStop = onStop;
  }

  get isFull(): boolean {
    return this.#unread.length >= mostUnread;
  }

  get isRead(): boolean {
    return this.#unread.length === 0;
  }

  push(events: FileEvent[]): void {
    this.#unread = this.#unread.slice(this.#taken).concat(events);
    this.#taken = 0;
    this.#news.emit('news');
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#onStop();
    this.#news.emit('news');
  }

  fail(error: unknown): void {
    this.#failure ??= error;
    this.stop();
  }

  /**
   * The unread events, and later ones until the watch is stopped or `signal` aborts. Several readers share the events.
   * Throws the failure of the watch, now or while reading.
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
      this.#onRead();
    }
    return event;
  }
}
