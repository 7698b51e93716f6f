import type { ActedPage } from './acted-page.ts';
import type { KeyEvent } from '../chromium/cdp/cdp-protocol.ts';
import { shift, withShift, type Key } from './keyboard.ts';

/** The keys that are down during an action. */
export class PressedKeys {
  readonly #page: ActedPage;
  readonly #down: Key[] = [];

  constructor(page: ActedPage) {
    this.#page = page;
  }

  get count(): number {
    return this.#down.length;
  }

  /** The pressed modifiers as bits of CDP's input events. */
  get modifiers(): number {
    return this.#down.reduce((bits, key) => bits | (key.modifier ?? 0), 0);
  }

  /** Presses keys, one after another. */
  async press(keys: Key[]): Promise<void> {
    for (const key of keys) {
      const pressed = (this.modifiers & shift) === 0 ? key : withShift(key);
      this.#down.push(pressed);
      await this.#page.send('Input.dispatchKeyEvent', keyDown(pressed, this.modifiers));
    }
  }

  /** Releases the last pressed keys in reverse order, down to the first `kept`. */
  async release(kept = 0): Promise<void> {
    const sent: Promise<unknown>[] = [];
    while (this.#down.length > kept) {
      const key = this.#down.pop()!;
      sent.push(this.#page.release('Input.dispatchKeyEvent', keyUp(key, this.modifiers)));
    }
    await Promise.all(sent);
  }
}

export function keyDown(key: Key, modifiers: number): KeyEvent {
  // With Control, Alt or Meta a key is a shortcut and types nothing.
  const { text } = (modifiers & ~shift) === 0 ? key : {};
  if (text === undefined) return { type: 'rawKeyDown', ...fields(key, modifiers) };
  return { type: 'keyDown', ...fields(key, modifiers), text, unmodifiedText: text };
}

export function keyUp(key: Key, modifiers: number): KeyEvent {
  return { type: 'keyUp', ...fields(key, modifiers) };
}

function fields({ key, code, keyCode, location }: Key, modifiers: number) {
  return { key, code, windowsVirtualKeyCode: keyCode, location, isKeypad: location === 3, modifiers };
}
