import { setTimeout as sleep } from 'node:timers/promises';
import { OperationError } from '../../contract/errors.ts';
import { CdpError, type CdpConnection } from './cdp-connection.ts';
import { keyOfCharacter, keyOfName, shift, type Key } from './keyboard.ts';
import { oneAtATime } from './one-at-a-time.ts';
import type { PageInView } from './page-in-view.ts';

export type MouseMove = { x: number; y: number; hold_keys: string[]; smooth: boolean; duration_ms?: number };

/**
 * Mouse and keyboard of a session, acting on its page in view, one action after another. Actions throw `conflict` where there is no page.
 */
export class Computer {
  readonly #cdp: CdpConnection;
  readonly #page: PageInView;
  readonly #screen: { width: number; height: number };
  readonly #ended: AbortSignal;
  readonly #inTurn = oneAtATime();
  #position = { x: 0, y: 0 };

  constructor(options: { cdp: CdpConnection; page: PageInView; screen: { width: number; height: number }; ended: AbortSignal }) {
    this.#cdp = options.cdp;
    this.#page = options.page;
    this.#screen = options.screen;
    this.#ended = options.ended;
  }

  /** Where the mouse is, in pixels of the screen. */
  mousePosition(): { x: number; y: number } {
    return this.#position;
  }

  /** Throws `bad_request` for a point outside the screen and for an unknown key. */
  async moveMouse(move: MouseMove, signal?: AbortSignal): Promise<void> {
    const { width, height } = this.#screen;
    if (move.x < 0 || move.y < 0 || move.x >= width || move.y >= height) {
      const most = `${width - 1},${height - 1}`;
      throw new OperationError('bad_request', `the point ${move.x},${move.y} is outside the screen, which goes from 0,0 to ${most}`);
    }
    const held = move.hold_keys.map(heldKey);
    const modifiers = held.reduce((bits, key) => bits | (key.modifier ?? 0), 0);
    await this.#act(signal, async (send, signal) => {
      for (const key of held) await send('Input.dispatchKeyEvent', pressed(key, modifiers));
      try {
        const points = pathOf(this.#position, move);
        const startedAt = performance.now();
        for (const [index, point] of points.entries()) {
          const dueAt = startedAt + ((move.duration_ms ?? 0) * index) / points.length;
          if (dueAt > performance.now()) await sleep(dueAt - performance.now(), undefined, { signal });
          signal.throwIfAborted();
          await send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...point, modifiers });
          this.#position = point;
        }
      } finally {
        for (const key of held) await send('Input.dispatchKeyEvent', released(key, 0));
      }
    });
  }

  /** Types literal text, with `delay` ms after each key. Line breaks press Enter, tabs press Tab; what no key types is inserted. */
  async typeText({ text, delay }: { text: string; delay: number }, signal?: AbortSignal): Promise<void> {
    const letters = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
    await this.#act(signal, async (send, signal) => {
      // Answers are waited for many at a time: a page works through the keys in their order anyway.
      const sent: Promise<unknown>[] = [];
      for (let index = 0; index < letters.length; index++) {
        signal.throwIfAborted();
        const letter = letters[index] ?? '';
        const key = keyOfCharacter(letter);
        if (key === undefined) {
          let insertion = letter;
          if (delay === 0) {
            while (index + 1 < letters.length && keyOfCharacter(letters[index + 1] ?? '') === undefined) insertion += letters[++index];
          }
          await Promise.all(sent.splice(0));
          await send('Input.insertText', { text: insertion });
        } else {
          sent.push(send('Input.dispatchKeyEvent', pressed(key, 0)), send('Input.dispatchKeyEvent', released(key, 0)));
          // Enter and Tab may move the focus, and the next key belongs to what has it then.
          if (delay > 0 || sent.length >= mostUnanswered || movesFocus(key)) await Promise.all(sent.splice(0));
        }
        if (delay > 0) await sleep(delay, undefined, { signal });
      }
      await Promise.all(sent);
    });
  }

  /** Runs an action in its turn, on the page that is in view then. `signal` and the session's end abort it. */
  async #act(aborted: AbortSignal | undefined, action: (send: SendInput, signal: AbortSignal) => Promise<void>): Promise<void> {
    const signal = aborted === undefined ? this.#ended : AbortSignal.any([aborted, this.#ended]);
    await this.#inTurn(async () => {
      try {
        signal.throwIfAborted();
        const sessionId = await this.#page.attach(signal);
        // Sent without the signal: many may be on their way, and each is answered or given up.
        await action((method, params) => this.#cdp.send(method, params, { sessionId, timeoutMs: inputTimeoutMs }), signal);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!(error instanceof CdpError)) throw error;
        throw new OperationError('conflict', `the page in view was closed or crashed; bring another to the front and repeat`, {
          cause: error,
        });
      }
    });
  }
}

type SendInput = CdpConnection['send'];

const mostUnanswered = 40;

/** Pages may be slow to take input; one that shows a dialog takes none. */
const inputTimeoutMs = 30_000;

function movesFocus({ key }: Key): boolean {
  return key === 'Enter' || key === 'Tab';
}

function pressed(key: Key, modifiers: number) {
  // With Control, Alt or Meta a key is a shortcut and types nothing.
  const text = (modifiers & ~shift) === 0 ? key.text : undefined;
  return {
    type: text === undefined ? ('rawKeyDown' as const) : ('keyDown' as const),
    ...fields(key, modifiers),
    text,
    unmodifiedText: text,
  };
}

function released(key: Key, modifiers: number) {
  return { type: 'keyUp' as const, ...fields(key, modifiers) };
}

function fields({ key, code, keyCode, location }: Key, modifiers: number) {
  return { key, code, windowsVirtualKeyCode: keyCode, location, modifiers };
}

function heldKey(name: string): Key {
  const key = keyOfName(name);
  if (key === undefined) {
    throw new OperationError(
      'bad_request',
      `hold_keys has the unknown key ${JSON.stringify(name)}; known are ctrl, shift, alt, meta and characters`,
    );
  }
  return key;
}

/** The points of a move: only its end, or a few on the way that slow down towards the end; one per 20 ms where the duration is given. */
function pathOf(from: { x: number; y: number }, { x, y, smooth, duration_ms }: MouseMove): { x: number; y: number }[] {
  const steps = smooth ? Math.max(5, Math.ceil((duration_ms ?? 0) / 20)) : 1;
  return Array.from({ length: steps }, (_, index) => {
    const rest = (1 - (index + 1) / steps) ** 2;
    return { x: Math.round(x + (from.x - x) * rest), y: Math.round(y + (from.y - y) * rest) };
  });
}
