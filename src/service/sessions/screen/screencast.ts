import { setTimeout as sleep } from 'node:timers/promises';
import { CdpError } from '../../chromium/cdp/cdp-connection.ts';
import type { CdpEvent, ScreencastFrame } from '../../chromium/cdp/cdp-protocol.ts';
import type { PageControl, PageInView } from './page-in-view.ts';

export type ScreencastOptions = {
  /** Pages are scaled down to fit into this many pixels. */
  maxWidth: number;
  maxHeight: number;
  /** Frames per second at most. */
  framerate: number;
  /** Called with each frame, a JPEG image in base64. */
  onFrame: (jpeg: string, metadata: ScreencastFrame['metadata']) => void;
  /** Called once, when the screencast ends. */
  onEnd: () => void;
};

const quality = 80;
/** Each start waits this long, in ms, for the first frame of a page; and the number of starts. */
const firstFrameMs = 250;
const mostStarts = 20;
/** Chromium sends no frame when a page without other changes is resized, so its size is checked this often, in ms. */
const sizeCheckMs = 500;

/** The page that frames come from, and the CDP session with it. */
type Shown = { targetId: string; sessionId?: string; hasFrames: boolean };

/** Takes pictures of the page in view of a session, one after each change. */
export class Screencast {
  readonly #cdp: PageControl;
  readonly #page: PageInView;
  readonly #options: ScreencastOptions;
  readonly #stopListening: (() => void)[];
  readonly #acknowledging = new Set<NodeJS.Timeout>();
  #shown: Shown | undefined;
  #ended = false;
  /** The time from which the next frame may come. */
  #dueAt = -Infinity;

  constructor(cdp: PageControl, page: PageInView, options: ScreencastOptions) {
    this.#cdp = cdp;
    this.#page = page;
    this.#options = options;
    this.#stopListening = [page.onChange(() => this.#follow()), cdp.onEvent((event) => this.#receive(event))];
    this.#follow();
  }

  /** Ends the screencast, if it hasn't ended. */
  stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const stop of this.#stopListening) stop();
    for (const timer of this.#acknowledging) clearTimeout(timer);
    this.#leave();
    this.#options.onEnd();
  }

  #follow(): void {
    const { targetId } = this.#page;
    if (targetId === this.#shown?.targetId) return;
    this.#leave();
    if (targetId !== undefined) void this.#show(targetId);
  }

  async #show(targetId: string): Promise<void> {
    const shown: Shown = (this.#shown = { targetId, hasFrames: false });
    try {
      // A new CDP session, because each can have only one screencast.
      const { sessionId } = await this.#cdp.send('Target.attachToTarget', { targetId, flatten: true });
      if (this.#shown !== shown) return this.#detach(sessionId);
      shown.sessionId = sessionId;
      await this.#startAtEachSize(shown, sessionId);
    } catch {
      // The page was closed meanwhile. Another one comes into view.
    }
  }

  async #startAtEachSize(shown: Shown, sessionId: string): Promise<void> {
    await this.#start(shown, sessionId);
    // The first check always starts again: a page that is resized during the start stays scaled to its size before.
    let size: string | undefined;
    while (this.#shown === shown) {
      await sleep(sizeCheckMs, undefined, { ref: false });
      const newSize = await this.#pageSize(sessionId);
      if (newSize === undefined || newSize === size) continue;
      size = newSize;
      await this.#start(shown, sessionId);
    }
  }

  /** A busy or navigating page may not tell its size. */
  async #pageSize(sessionId: string): Promise<string | undefined> {
    try {
      const { cssLayoutViewport } = await this.#cdp.send('Page.getLayoutMetrics', {}, { sessionId });
      return `${cssLayoutViewport.clientWidth}x${cssLayoutViewport.clientHeight}`;
    } catch {
      return undefined;
    }
  }

  /** Restarts until a frame comes: Chromium sometimes sends none of a new page, and a navigating page may refuse. */
  async #start(shown: Shown, sessionId: string): Promise<void> {
    const { maxWidth, maxHeight } = this.#options;
    const settings = {
      format: 'jpeg',
      quality,
      maxWidth,
      maxHeight,
      maxFramesInFlight: 1,
      sendLastFrame: true,
    } as const;
    for (let starts = 0; starts < mostStarts && this.#shown === shown; starts++) {
      let isStarted = false;
      try {
        if (starts > 0) await this.#cdp.send('Page.stopScreencast', {}, { sessionId });
        shown.hasFrames = false;
        await this.#cdp.send('Page.startScreencast', settings, { sessionId });
        isStarted = true;
      } catch (error) {
        if (!(error instanceof CdpError)) throw error;
      }
      await sleep(firstFrameMs, undefined, { ref: false });
      // After a refusal, a frame of the start before may still come.
      if (isStarted && shown.hasFrames) return;
    }
  }

  #leave(): void {
    const sessionId = this.#shown?.sessionId;
    this.#shown = undefined;
    if (sessionId !== undefined) this.#detach(sessionId);
  }

  #detach(sessionId: string): void {
    this.#cdp.send('Target.detachFromTarget', { sessionId }).catch(() => {});
  }

  #receive(event: CdpEvent): void {
    if (event.method !== 'Page.screencastFrame' || !this.#shown || event.sessionId !== this.#shown.sessionId) return;
    this.#shown.hasFrames = true;
    const { data, metadata, sessionId: frame } = event.params;
    const interval = 1000 / this.#options.framerate;
    const now = performance.now();
    this.#dueAt = this.#dueAt + interval < now ? now + interval : this.#dueAt + interval;
    // Chromium sends the next frame after the acknowledgement.
    const timer = setTimeout(() => {
      this.#acknowledging.delete(timer);
      this.#cdp.send('Page.screencastFrameAck', { sessionId: frame }, { sessionId: event.sessionId }).catch(() => {});
    }, this.#dueAt - now);
    timer.unref();
    this.#acknowledging.add(timer);
    this.#options.onFrame(data, metadata);
  }
}
