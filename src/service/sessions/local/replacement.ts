import { OperationError } from '../../../contract/errors.ts';

/** Lets one call at a time replace a session's browser. */
export class Replacement {
  /** Resolves when the running call has ended. */
  #running: Promise<unknown> | undefined;

  /** Waits until no call runs. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Runs `replace`. Throws `conflict` while another one runs. */
  async run(replace: () => Promise<void>): Promise<void> {
    if (this.#running)
      throw new OperationError('conflict', 'another call restarts the browser of this session: wait for its end');
    const running = replace();
    this.#running = running.catch(() => {});
    try {
      await running;
    } finally {
      this.#running = undefined;
    }
  }
}
