import { isRunning } from '../children/is-running.ts';

const pollMs = 500;
/** The number of polls in a row that must find no user. */
const pollsUntilGone = 2;

/** The processes that use an embedded service. The service ends when all of them are gone. */
export class Users {
  readonly #pids = new Set<number>();
  #emptyPolls = 0;
  #gone = false;

  /** Adds a process. Returns false if the service is about to end: the process must then start another service. */
  add(pid: number): boolean {
    if (this.#gone) return false;
    this.#pids.add(pid);
    this.#emptyPolls = 0;
    return true;
  }

  /** Calls `onGone` once, when no process has used the service for about a second. */
  watch(onGone: () => void): void {
    const timer = setInterval(() => {
      for (const pid of this.#pids) if (!isRunning(pid)) this.#pids.delete(pid);
      this.#emptyPolls = this.#pids.size === 0 ? this.#emptyPolls + 1 : 0;
      if (this.#emptyPolls < pollsUntilGone) return;
      this.#gone = true;
      clearInterval(timer);
      onGone();
    }, pollMs);
  }
}
