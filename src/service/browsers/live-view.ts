import type { CdpConnection } from './cdp-connection.ts';
import type { KeyEvent, MouseButton, ScreencastFrame } from './cdp-protocol.ts';
import { shift } from './keyboard.ts';
import { oneAtATime } from './one-at-a-time.ts';
import type { PageInView } from './page-in-view.ts';
import type { Screencast, ScreencastOptions } from './screencast.ts';

export type LiveViewer = {
  /** Called with each picture, a JPEG image; an empty one when there is no page any more. */
  onFrame: (jpeg: Buffer) => void;
  /** Called once, when there will be no more. */
  onEnd: () => void;
};

/** A place in the picture: from 0,0, its top left corner, to 1,1. */
type Point = { x: number; y: number };

/** What a viewer does. `modifiers` and `buttons` are the bits of CDP's input events; `keyCode` is the one of DOM events. */
export type LiveInput =
  | (Point & {
      type: 'mouse';
      action: 'move' | 'press' | 'release';
      button: MouseButton;
      buttons: number;
      clickCount: number;
      modifiers: number;
    })
  | (Point & { type: 'wheel'; deltaX: number; deltaY: number; modifiers: number })
  | {
      type: 'key';
      action: 'press' | 'release';
      key: string;
      code: string;
      keyCode: number;
      location: number;
      repeat: boolean;
      modifiers: number;
    }
  | { type: 'text'; text: string };

const largestPicture = { maxWidth: 1920, maxHeight: 1080 };
const framerate = 20;
/** A page that is stuck takes no input; what comes beyond that is lost. */
const mostUnanswered = 200;

/** One viewer's live view: pictures of the page in view, and input to it. */
export class LiveView {
  readonly #cdp: CdpConnection;
  readonly #page: PageInView;
  readonly #ended: AbortSignal;
  readonly #screencast: Screencast;
  readonly #inTurn = oneAtATime();
  /** What is pressed, each with the input that releases it. */
  readonly #held = new Map<string, LiveInput>();
  /** The size of the page in the latest picture. */
  #size: ScreencastFrame['metadata'] | undefined;
  #unanswered = 0;
  #over = false;

  constructor(options: {
    cdp: CdpConnection;
    page: PageInView;
    ended: AbortSignal;
    screencast: (options: ScreencastOptions) => Screencast;
    viewer: LiveViewer;
  }) {
    this.#cdp = options.cdp;
    this.#page = options.page;
    this.#ended = options.ended;
    const { onFrame, onEnd } = options.viewer;
    const stopFollowing = options.page.onChange(() => {
      if (options.page.targetId === undefined) onFrame(Buffer.alloc(0));
    });
    this.#screencast = options.screencast({
      ...largestPicture,
      framerate,
      onFrame: (jpeg, metadata) => {
        this.#size = metadata;
        onFrame(Buffer.from(jpeg, 'base64'));
      },
      onEnd: () => {
        this.#over = true;
        stopFollowing();
        onEnd();
      },
    });
  }

  /** Passes input on to the page in view. What that page does not take is lost, as it is in front of a screen. */
  input(input: LiveInput): void {
    if (this.#over || this.#unanswered >= mostUnanswered) return;
    this.#noteHeld(input);
    this.#unanswered++;
    this.#send(input)
      .catch(() => {})
      .finally(() => this.#unanswered--);
  }

  /** Ends the view, and releases what its viewer holds down. */
  stop(): void {
    if (this.#over) return;
    for (const release of this.#held.values()) this.#send(release).catch(() => {});
    this.#screencast.stop();
  }

  /** Sends input after what came before it, and waits until the page has taken it. */
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
      return this.#cdp.send('Input.dispatchMouseEvent', { type: 'mouseWheel', ...point, deltaX, deltaY, modifiers }, options);
    }
    const { button, buttons, clickCount } = input;
    const type = mouseEventTypes[input.action];
    return this.#cdp.send('Input.dispatchMouseEvent', { type, ...point, button, buttons, clickCount, modifiers }, options);
  }

  /** In CSS pixels of the page, which a phone's page may have more of than its screen is wide. */
  #pagePoint({ x, y }: Point): Point {
    const { deviceWidth, deviceHeight, pageScaleFactor } = this.#size ?? { deviceWidth: 0, deviceHeight: 0, pageScaleFactor: 1 };
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

/** What a key types. Keys with names, and shortcuts, type nothing. */
function textOf(key: string, modifiers: number): string | undefined {
  if ((modifiers & ~shift) !== 0) return undefined;
  if (key === 'Enter') return '\r';
  return Array.from(key).length === 1 ? key : undefined;
}
