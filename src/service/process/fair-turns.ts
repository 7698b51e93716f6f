import { setImmediate } from 'node:timers/promises';

/**
 * Gives turns to callers, one project after another. Starting a program blocks the service for some milliseconds, so a
 * project that starts many must not make the others wait for all of them.
 */
export class FairTurns {
  /** Those who wait, by project. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isRunning = false;

  /** Resolves when it is the caller's turn, which lasts until the next turn of the event loop. */
  async next(projectId: string): Promise<void> {
    await new Promise<void>((resolve) => {
      const others = this.#waiting.get(projectId);
      if (others) others.push(resolve);
      else this.#waiting.set(projectId, [resolve]);
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let [first] = this.#waiting; first; [first] = this.#waiting) {
      const [projectId, callers] = first;
      callers.shift()!();
      await setImmediate();
      // Its next caller comes after one of each other project.
      this.#waiting.delete(projectId);
      if (callers.length > 0) this.#waiting.set(projectId, callers);
    }
    this.#isRunning = false;
  }
}
