import { PageInView, type PageControl } from './page-in-view.ts';

/** The text clipboard of a browser. */
export type TextClipboard = {
  /** Throws `unavailable` if the browser doesn't answer in time. */
  read(signal?: AbortSignal): Promise<string>;
  /** Throws `unavailable` if the browser doesn't answer in time. */
  write(text: string, signal?: AbortSignal): Promise<void>;
};

/** A browser whose pages the service can show and use. */
export class ShownBrowser {
  readonly cdp: PageControl;
  readonly page: PageInView;
  /** Aborts when the session ends. */
  readonly ended: AbortSignal;
  /** Default: that of the room `input`, which needs CDP. */
  readonly clipboard: TextClipboard | undefined;
  /** In pixels. */
  screen: { width: number; height: number };
  readonly #parts = new Map<unknown, unknown>();

  /** `ownTargets` has the ids of the service's own targets and browser contexts. */
  constructor(options: {
    cdp: PageControl;
    screen: { width: number; height: number };
    ended: AbortSignal;
    clipboard?: TextClipboard;
    ownTargets?: ReadonlySet<string>;
  }) {
    this.cdp = options.cdp;
    this.clipboard = options.clipboard;
    this.screen = options.screen;
    this.ended = options.ended;
    this.page = new PageInView(options.cdp, options.ownTargets ?? new Set());
  }

  /** Returns a part that another room adds to the browser, such as its mouse. The first call creates it by `create`. */
  part<T>(create: (browser: this) => T): T {
    if (!this.#parts.has(create)) this.#parts.set(create, create(this));
    return this.#parts.get(create) as T;
  }

  /** Returns a part if `part` has created it. */
  createdPart<T>(create: (browser: this) => T): T | undefined {
    return this.#parts.get(create) as T | undefined;
  }
}
