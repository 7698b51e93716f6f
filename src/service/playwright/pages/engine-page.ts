import pLimit from 'p-limit';
import type { Command, KeyEvent, MouseEvent, Params, ScreencastFrame } from '../../chromium/cdp/cdp-protocol.ts';
import type { AskOptions, ClientConnection, Size } from './client-connection.ts';

type PageCommandName =
  | 'Page.getLayoutMetrics'
  | 'Page.captureScreenshot'
  | 'Input.dispatchKeyEvent'
  | 'Input.dispatchMouseEvent'
  | 'Input.insertText'
  | 'Input.setInterceptDrags';
type CommandOf<C extends Command> = { [N in C]: { method: N; params: Params<N> } }[C];

/** A command of CDP that a page of another engine can carry out. */
export type PageCommand = CommandOf<PageCommandName>;

/** A picture as in CDP's screencasts: a JPEG image in base64. */
export type Picture = Pick<ScreencastFrame, 'data' | 'metadata'>;

/** The shortest time between two pictures, in ms. */
const restMs = 100;
const quality = 80;
/** Show the page as it is: without these, Playwright hides carets for its screenshots. */
const unchanged = { caret: 'initial', animations: 'allow', scale: 'css' } as const;

/** A page of a client, to which the service sends input and of which it takes pictures, by Playwright's protocol. */
export class EnginePage {
  readonly id: string;
  readonly mainFrame: string;
  /** The id of its browser context. */
  readonly parent: string;
  readonly connection: ClientConnection;
  url: string;
  /** `undefined` if the client emulates none. */
  size: Size | undefined;
  readonly #inTurn = pLimit(1);
  #picture: Promise<Picture> | undefined;
  /** When the next picture may be taken. */
  #pictureDueAt = 0;

  constructor(
    connection: ClientConnection,
    page: Pick<EnginePage, 'id' | 'mainFrame' | 'parent' | 'url'> & { size: Size | undefined },
  ) {
    this.connection = connection;
    this.id = page.id;
    this.mainFrame = page.mainFrame;
    this.parent = page.parent;
    this.url = page.url;
    this.size = page.size;
  }

  async carryOut({ method, params }: PageCommand, options: AskOptions): Promise<object> {
    switch (method) {
      case 'Page.getLayoutMetrics':
        return await this.#metrics(options);
      case 'Page.captureScreenshot':
        return { data: await this.#screenshot({ type: 'png' }, options) };
      case 'Input.setInterceptDrags':
        // Other engines move a drag by themselves.
        return {};
      case 'Input.insertText':
        return await this.#inTurn(() => this.#ask('keyboardInsertText', params, options));
      case 'Input.dispatchKeyEvent':
        return await this.#inTurn(() => this.#key(params, options));
      default:
        return await this.#inTurn(() => this.#mouse(params, options));
    }
  }

  /** The newest picture. Takes one if the last one is old. All viewers get the same, and half of the time none is taken. */
  async picture(): Promise<Picture> {
    if (performance.now() >= this.#pictureDueAt) {
      this.#picture = this.#takePicture();
      this.#picture.catch(() => {});
    }
    return await this.#picture!;
  }

  async #takePicture(): Promise<Picture> {
    const startedAt = performance.now();
    this.#pictureDueAt = Infinity;
    try {
      const timestamp = Date.now() / 1000;
      const data = await this.#screenshot({ type: 'jpeg', quality }, {});
      const { width: deviceWidth, height: deviceHeight } = await this.#viewport({});
      const still = { offsetTop: 0, pageScaleFactor: 1, scrollOffsetX: 0, scrollOffsetY: 0 };
      return { data, metadata: { ...still, deviceWidth, deviceHeight, timestamp } };
    } finally {
      const now = performance.now();
      this.#pictureDueAt = now + Math.max(restMs, now - startedAt);
    }
  }

  async #screenshot(format: { type: 'png' } | { type: 'jpeg'; quality: number }, options: AskOptions): Promise<string> {
    const { binary } = (await this.#ask('screenshot', { ...format, ...unchanged }, options)) as { binary: string };
    return binary;
  }

  async #metrics(options: AskOptions): Promise<object> {
    const { width: clientWidth, height: clientHeight } = await this.#viewport(options);
    const viewport = { pageX: 0, pageY: 0, clientWidth, clientHeight };
    return { cssLayoutViewport: viewport, cssVisualViewport: { ...viewport, offsetX: 0, offsetY: 0, scale: 1 } };
  }

  async #viewport(options: AskOptions): Promise<Size> {
    if (this.size) return this.size;
    const expression = '`${innerWidth} ${innerHeight}`';
    const script = { expression, isFunction: false, arg: { value: { v: 'undefined' }, handles: [] } };
    const { value } = (await this.connection.ask(this.mainFrame, 'evaluateExpression', script, options)) as {
      value: { s: string };
    };
    const [width, height] = value.s.split(' ').map(Number) as [number, number];
    return { width, height };
  }

  async #key({ type, key = '', code = '', text }: KeyEvent, options: AskOptions): Promise<object> {
    const isCharacter = Array.from(key).length === 1;
    if (isCharacter && !/^[ -~]$/.test(key)) {
      // Playwright's keyboard is that of the USA.
      return text === undefined ? {} : await this.#ask('keyboardInsertText', { text }, options);
    }
    const method = type === 'keyUp' ? 'keyboardUp' : 'keyboardDown';
    return await this.#ask(method, { key: isCharacter ? key : code }, options);
  }

  async #mouse({ type, x, y, button, clickCount = 1, ...wheel }: MouseEvent, options: AskOptions): Promise<object> {
    // Playwright presses and scrolls where the mouse is, and the client may have moved it.
    const moved = await this.#ask('mouseMove', { x, y }, options);
    if (type === 'mouseMoved') return moved;
    if (type === 'mouseWheel') {
      const { deltaX = 0, deltaY = 0 } = wheel;
      return await this.#ask('mouseWheel', { deltaX, deltaY }, options);
    }
    const method = type === 'mousePressed' ? 'mouseDown' : 'mouseUp';
    return await this.#ask(method, { button, clickCount: Math.max(1, clickCount) }, options);
  }

  async #ask(method: string, params: object, options: AskOptions): Promise<object> {
    return await this.connection.ask(this.id, method, params, options);
  }
}
