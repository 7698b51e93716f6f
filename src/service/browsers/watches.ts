import { readFileSync } from 'node:fs';
import { OperationError } from '../../contract/errors.ts';
import { newId } from '../id.ts';
import type { Session } from './session.ts';
import { Watch } from './watch.ts';

const mostPerSession = 100;

type Watched = Pick<Session, 'id' | 'root' | 'hold'>;

/** The watches of all sessions, by whom the session was held when they were started. They are stopped when it ends or changes hands. */
export class Watches {
  /** A watch that is being started is there already, as `undefined`. */
  readonly #held = new WeakMap<AbortSignal, Map<string, Watch | undefined>>();
  readonly #running = new Set<Watch>();
  /** In this turn of the event loop. */
  #notices = 0;
  /** The system forgets what happens while it holds so many notices. It does not say so, hence a wide margin. */
  readonly #tooManyNotices = mostQueued() / 4;

  /** Resolves with the watch's id. Throws `not_found`, `forbidden`, `conflict` and `capacity_exhausted`. */
  async start(session: Watched, { path: sessionPath, recursive }: { path: string; recursive: boolean }): Promise<string> {
    const { hold, root } = session;
    const watches = this.#of(hold);
    if (watches.size >= mostPerSession) {
      throw new OperationError('conflict', `the browser session ${session.id} has ${mostPerSession} watches already: stop one first`);
    }
    const id = newId();
    watches.set(id, undefined);
    try {
      const watch = await Watch.start({ root, sessionPath, recursive, onNotice: () => this.#noticed() });
      if (hold.aborted) {
        watch.stop();
        throw new OperationError('not_found', `the browser session ${session.id} has ended`);
      }
      watches.set(id, watch);
      this.#running.add(watch);
      return id;
    } catch (error) {
      watches.delete(id);
      throw error;
    }
  }

  /** Throws `not_found`. */
  get({ hold }: Watched, id: string): Watch {
    const watch = this.#held.get(hold)?.get(id);
    if (watch) return watch;
    throw new OperationError('not_found', `watch not found: ${id}`);
  }

  /** Throws `not_found`. */
  stop(session: Watched, id: string): void {
    const watch = this.get(session, id);
    this.#of(session.hold).delete(id);
    this.#running.delete(watch);
    watch.stop();
  }

  #of(hold: AbortSignal): Map<string, Watch | undefined> {
    const known = this.#held.get(hold);
    if (known) return known;
    const watches = new Map<string, Watch | undefined>();
    this.#held.set(hold, watches);
    hold.addEventListener('abort', () => {
      for (const watch of watches.values()) {
        if (!watch) continue;
        this.#running.delete(watch);
        watch.stop();
      }
    });
    return watches;
  }

  /** All watchers of a process share one queue of the system, which is read to its end in one turn of the event loop. */
  #noticed(): void {
    this.#notices += 1;
    if (this.#notices === 1) setImmediate(() => (this.#notices = 0));
    if (this.#notices === this.#tooManyNotices) for (const watch of this.#running) watch.suspectAll();
  }
}

function mostQueued(): number {
  try {
    return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'));
  } catch {
    return 16_384;
  }
}
