import { setTimeout as sleep } from 'node:timers/promises';
import type { ActedPage } from './acted-page.ts';
import { keyOfCharacter, type Key } from './keyboard.ts';
import { keyDown, keyUp } from './pressed-keys.ts';

/** The most commands that are sent before their answers arrive. A page handles keys in their order anyway. */
const mostUnanswered = 40;

/** The longest letter, in characters. With accents or emoji, one visible letter can have many. */
const longestLetter = 1000;

/** Runs of characters that have keys. An accent that joins the next character ends a run. */
const runsOfKeys = /((?:\r\n|[\t\n\r -~](?![\p{Grapheme_Extend}\p{Spacing_Mark}\u200d]))+)/u;

/**
 * Types literal text with `delay` ms after each key. A line break presses Enter, a tab presses Tab. Characters without
 * a key are inserted.
 */
export async function typeText(
  page: ActedPage,
  { text, delay }: { text: string; delay: number },
  signal: AbortSignal,
): Promise<void> {
  const sent: Promise<unknown>[] = [];
  const pause = async () => {
    await Promise.all(sent.splice(0));
    signal.throwIfAborted();
    if (delay > 0) await sleep(delay, undefined, { signal });
  };
  for (const [index, run] of text.split(runsOfKeys).entries()) {
    const isOfKeys = index % 2 === 1;
    for (const character of isOfKeys ? keyed(run) : insertions(run, delay)) {
      if (isOfKeys) {
        const key = keyOfCharacter(character)!;
        sent.push(
          page.send('Input.dispatchKeyEvent', keyDown(key, 0)),
          page.send('Input.dispatchKeyEvent', keyUp(key, 0)),
        );
        // After Enter or Tab another element may have the focus, and must get the next key.
        if (delay > 0 || movesFocus(key) || sent.length >= mostUnanswered) await pause();
      } else {
        await Promise.all(sent.splice(0));
        sent.push(page.send('Input.insertText', { text: character }));
        await pause();
      }
    }
  }
  await Promise.all(sent);
}

function* keyed(run: string): Generator<string> {
  for (const [character] of run.matchAll(/\r\n|./gs)) yield character;
}

/** The parts to insert. With a delay they are single letters. */
function* insertions(run: string, delay: number): Generator<string> {
  const letters = new Intl.Segmenter();
  for (let at = 0; at < run.length;) {
    // Finding a letter takes longer in a longer text.
    const inserted = delay === 0 ? run : letters.segment(run.slice(at, at + longestLetter)).containing(0)!.segment;
    yield inserted;
    at += inserted.length;
  }
}

function movesFocus({ key }: Key): boolean {
  return key === 'Enter' || key === 'Tab';
}
