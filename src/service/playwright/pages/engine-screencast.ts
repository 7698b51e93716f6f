import type { EnginePage, Picture } from './engine-page.ts';

/** The shortest time between two pictures, in ms. */
const intervalMs = 100;

/** Takes pictures of a page, and tells those that differ from the one before, each after the acknowledgement of the last. */
export class EngineScreencast {
  readonly #page: EnginePage;
  readonly #onPicture: (picture: Picture) => void;
  #isOn = false;
  #isRunning = false;
  #last = '';
  #goOn = () => {};

  constructor(page: EnginePage, onPicture: (picture: Picture) => void) {
    this.#page = page;
    this.#onPicture = onPicture;
  }

  /** The first picture comes also if it doesn't differ from the one before. */
  start(): void {
    this.#isOn = true;
    this.#last = '';
    this.#goOn();
    if (!this.#isRunning) void this.#run();
  }

  acknowledge(): void {
    this.#goOn();
  }

  stop(): void {
    this.#isOn = false;
    this.#goOn();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isOn) {
      const picture = await this.#page.picture().catch(() => undefined);
      if (!this.#isOn) break;
      if (picture && picture.data !== this.#last) {
        this.#last = picture.data;
        await this.#until(() => this.#onPicture(picture));
      } else await this.#until(undefined);
    }
    this.#isRunning = false;
  }

  /** Waits for the acknowledgement after `tell`, or for the next picture. */
  async #until(tell: (() => void) | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = tell ? undefined : setTimeout(resolve, intervalMs).unref();
      this.#goOn = () => {
        clearTimeout(timer);
        resolve();
      };
      tell?.();
    });
  }
}
