import pLimit from 'p-limit';
import { testTitleOf } from '../../contract/lease-tags.ts';
import type { KeyEvent, ScreencastFrame } from '../chromium/cdp/cdp-protocol.ts';
import { shift } from '../input/keyboard.ts';
import type { LiveInput } from './live-view-messages.ts';
import type { LiveSession, LiveViewer } from './live-view-sockets.ts';
import type { PageControl, PageInView } from '../sessions/screen/page-in-view.ts';
import type { Screencast } from '../sessions/screen/screencast.ts';
import type { ShownSession } from '../sessions/screen/shown-session.ts';

type Point = { x: number; y: number };

const largestPicture = { maxWidth: 1920, maxHeight: 1080 };
const framerate = 20;
/** In characters. The URL of a page may be a document of many megabytes. */
const longestUrl = 2048;
/** The most inputs that the page hasn't answered yet. A stuck page answers none, so further input is dropped. */
const mostUnanswered = 200;

/** The functions of a session that live views use. */
export function liveSession(session: ShownSession): LiveSession {
  return {
    touch: () => session.touch(),
    liveView: (viewer) => new LiveView(session, viewer),
    details: () => ({
      session: session.lease.name ?? session.id,
      pool: session.lease.pool && (session.lease.pool.name ?? session.lease.pool.id),
      test: testTitleOf(session.lease.tags),
      url: session.browser.page.url?.slice(0, longestUrl),
    }),
    end: () => void session.end(),
  };
}

/** One viewer's view of the page in front, and input to that page. */
export class LiveView {
  readonly #cdp: PageControl;
  readonly #page: PageInView;
  readonly #ended: AbortSignal;
  readonly #screencast: Screencast;
  readonly #inTurn = pLimit(1);
  /** The release of each held key and button. */
  readonly #held = new Map<string, LiveInput>();
  /** The size of the page in the latest picture. */
  #size: ScreencastFrame['metadata'] | undefined;
  #unanswered = 0;
  #over = false;

  constructor(session: ShownSession, { onFrame, onPage, onEnd }: LiveViewer) {
    const { cdp, page, ended } = session.browser;
    this.#cdp = cdp;
    this.#page = page;
    this.#ended = ended;
    const startedAt = performance.now();
    const seen = { session_id: session.id };
    session.note({ category: 'connection', type: 'live_view_connect', data: seen });
    const stopFollowing = page.onChange(() => {
      if (page.targetId === undefined) onFrame(Buffer.alloc(0));
      onPage();
    });
    this.#screencast = session.screencast({
      ...largestPicture,
      framerate,
      onFrame: (jpeg, metadata) => {
        this.#size = metadata;
        onFrame(Buffer.from(jpeg, 'base64'));
      },
      onEnd: () => {
        this.#over = true;
        const data = { ...seen, duration_ms: Math.round(performance.now() - startedAt) };
        session.note({ category: 'connection', type: 'live_view_disconnect', data });
        stopFollowing();
        onEnd();
      },
    });
  }

  /** Sends input to the page in view. Ignores errors. */
  input(input: LiveInput): void {
    if (this.#over || this.#unanswered >= mostUnanswered) return;
    this.#noteHeld(input);
    this.#unanswered++;
    this.#send(input)
      .catch(() => {})
      .finally(() => this.#unanswered--);
  }

  /** Releases the held keys and buttons, too. */
  stop(): void {
    if (this.#over) return;
    for (const release of this.#held.values()) this.#send(release).catch(() => {});
    this.#screencast.stop();
  }

  /** Sends input in order, and waits until the page has taken it. */
  async #send(input: LiveInput): Promise<void> {
    const { answer } = await this.#inTurn(async () => {
      const sessionId = await this.#page.attach(this.#ended);
      return { answer: this.#dispatch(input, { sessionId }) };
    });
    await answer;
  }

  #dispatch(input: LiveInput, options: { sessionId: string }): Promise<object> {
    if (input.type === 'text') return this.#cdp.send('Input.insertText', { text: input.text }, options);
    if (input.type === 'key') return this.#cdp.send('Input.dispatchKeyEvent', keyEvent(input), options);
    const point = this.#pagePoint(input);
    const { modifiers } = input;
    if (input.type === 'wheel') {
      const { deltaX, deltaY } = input;
      return this.#cdp.send(
        'Input.dispatchMouseEvent',
        { type: 'mouseWheel', ...point, deltaX, deltaY, modifiers },
        options,
      );
    }
    const { button, buttons, clickCount } = input;
    const type = mouseEventTypes[input.action];
    return this.#cdp.send(
      'Input.dispatchMouseEvent',
      { type, ...point, button, buttons, clickCount, modifiers },
      options,
    );
  }

  /** In CSS pixels of the page. A phone's page can be wider than its screen. */
  #pagePoint({ x, y }: Point): Point {
    const { deviceWidth, deviceHeight, pageScaleFactor } = this.#size ?? {
      deviceWidth: 0,
      deviceHeight: 0,
      pageScaleFactor: 1,
    };
    return { x: (x * deviceWidth) / pageScaleFactor, y: (y * deviceHeight) / pageScaleFactor };
  }

  #noteHeld(input: LiveInput): void {
    if ((input.type !== 'mouse' && input.type !== 'key') || input.action === 'move') return;
    const held = input.type === 'mouse' ? input.button : input.code;
    if (input.action === 'release') this.#held.delete(held);
    else this.#held.set(held, { ...input, action: 'release' });
  }
}

const mouseEventTypes = { move: 'mouseMoved', press: 'mousePressed', release: 'mouseReleased' } as const;

function keyEvent({ action, key, code, keyCode, location, repeat, modifiers }: LiveInput & { type: 'key' }): KeyEvent {
  const fields = { key, code, windowsVirtualKeyCode: keyCode, location, modifiers };
  if (action === 'release') return { type: 'keyUp', ...fields };
  const text = textOf(key, modifiers);
  if (text === undefined) return { type: 'rawKeyDown', ...fields, autoRepeat: repeat };
  return { type: 'keyDown', ...fields, autoRepeat: repeat, text, unmodifiedText: text };
}

/** The text that a key types. Named keys and shortcuts type nothing. */
function textOf(key: string, modifiers: number): string | undefined {
  if ((modifiers & ~shift) !== 0) return undefined;
  if (key === 'Enter') return '\r';
  return Array.from(key).length === 1 ? key : undefined;
}
