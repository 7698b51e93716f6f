import { availableParallelism } from 'node:os';

/**
 * Lets few callers work at once, one project after another. Starting a program needs some milliseconds of a core, so a
 * project that starts many must not make the others wait for all of them.
 */
export class FairTurns {
  /** Those who wait, by project. The project that comes first is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #free = availableParallelism();

  /** Calls `work` when it is the project's turn, and returns its result. */
  async take<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else
      await new Promise<void>((resolve) => {
        const others = this.#waiting.get(projectId);
        if (others) others.push(resolve);
        else this.#waiting.set(projectId, [resolve]);
      });
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  #pass(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#free += 1;
      return;
    }
    const [projectId, [next, ...others]] = first;
    this.#waiting.delete(projectId);
    if (others.length > 0) this.#waiting.set(projectId, others);
    next!();
  }
}
