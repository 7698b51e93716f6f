import type { LiveInput } from './live-view-messages.ts';

type KeyInput = Extract<LiveInput, { type: 'key' }>;

const longestText = 1_000_000;

/**
 * Sends the viewer's keys and text to the session while the text field has the focus. Runs in the page of a live view.
 */
export function takeKeyboard(keyboard: HTMLTextAreaElement, send: (input: LiveInput) => void): void {
  /** The release of each held key, by its code. */
  const held = new Map<string, KeyInput>();

  keyboard.addEventListener('keydown', (event) => {
    const { key } = event;
    if (key === 'Escape' && event.shiftKey) {
      event.preventDefault();
      return keyboard.blur();
    }
    // An input method turns this key into text.
    if (event.isComposing || event.keyCode === 229 || key === 'Dead') return;
    // The event `paste` brings the text.
    if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === 'v') return;
    event.preventDefault();
    send(keyInput('press', event));
    held.set(event.code, keyInput('release', event));
  });
  keyboard.addEventListener('keyup', (event) => {
    if (held.delete(event.code)) send(keyInput('release', event));
  });
  keyboard.addEventListener('blur', () => {
    for (const release of held.values()) send(release);
    held.clear();
  });
  keyboard.addEventListener('input', (event) => {
    if (!(event instanceof InputEvent && event.isComposing)) sendWritten();
  });
  keyboard.addEventListener('compositionend', sendWritten);
  keyboard.addEventListener('paste', (event) => {
    event.preventDefault();
    sendText(event.clipboardData?.getData('text/plain') ?? '');
  });

  /** Sends text of an input method or an on-screen keyboard. */
  function sendWritten(): void {
    sendText(keyboard.value);
    keyboard.value = '';
  }

  function sendText(text: string): void {
    if (text !== '') send({ type: 'text', text: text.slice(0, longestText) });
  }
}

/** The bits of CDP's input events. */
export function modifiersOf({ altKey, ctrlKey, metaKey, shiftKey }: MouseEvent | KeyboardEvent): number {
  return (altKey ? 1 : 0) | (ctrlKey ? 2 : 0) | (metaKey ? 4 : 0) | (shiftKey ? 8 : 0);
}

function keyInput(action: KeyInput['action'], event: KeyboardEvent): KeyInput {
  const { key, code, keyCode, location, repeat } = event;
  // With AltGr, or Option on a Mac, a key types another character and isn't a shortcut.
  const isComposed =
    event.getModifierState('AltGraph') || (event.altKey && key.length === 1 && !/[a-z0-9 ]/i.test(key));
  const modifiers = isComposed ? modifiersOf(event) & ~3 : modifiersOf(event);
  return { type: 'key', action, key, code, keyCode, location, repeat, modifiers };
}
