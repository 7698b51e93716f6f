import { Screencast, type ScreencastOptions } from './screencast.ts';
import type { ShownBrowser } from './shown-browser.ts';

/** The running screencasts of a session. */
export class Screencasts {
  readonly #running = new Map<Screencast, { isInterruptible: boolean }>();

  /** Whether one runs that a restart or another size of the browser must not end. */
  get mustStay(): boolean {
    return [...this.#running.values()].some(({ isInterruptible }) => !isInterruptible);
  }

  /** With `isInterruptible`, a restart or another size of the browser may end it. */
  start(
    { cdp, page }: Pick<ShownBrowser, 'cdp' | 'page'>,
    { isInterruptible = false, ...options }: ScreencastOptions & { isInterruptible?: boolean },
  ): Screencast {
    const screencast: Screencast = new Screencast(cdp, page, {
      ...options,
      onEnd: () => {
        this.#running.delete(screencast);
        options.onEnd();
      },
    });
    this.#running.set(screencast, { isInterruptible });
    return screencast;
  }

  stop(): void {
    for (const screencast of this.#running.keys()) screencast.stop();
  }
}
