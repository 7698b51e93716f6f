import { isRunning } from './is-running.ts';

const pollMs = 500;
/** The number of polls in a row that must find no user. */
const pollsUntilGone = 2;

/** The processes that an embedded service runs for. */
export class Users {
  readonly #pids = new Set<number>();
  #emptyPolls = 0;
  #gone = false;

  /** False if the service is about to end. The process must then start another one. */
  add(pid: number): boolean {
    if (this.#gone) return false;
    this.#pids.add(pid);
    this.#emptyPolls = 0;
    return true;
  }

  /** Calls back once, when there was no user for about a second. */
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
