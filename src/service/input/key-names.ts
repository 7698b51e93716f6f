import { OperationError } from '../../contract/errors.ts';
import { keyOfCharacter, namedKeys, type Key } from './keyboard.ts';

/**
 * The keys of a combination such as `Control+Shift+t`, `Return`, `a` or `ctrl++`, in the order in which they are
 * pressed. Names are those of X11 and of browsers, in upper or lower case. A character stands for its key. Throws
 * `bad_request` for an unknown key.
 */
export function keysOf(combination: string): Key[] {
  return combination.split(/(?<=.)\+(?=.)/s).flatMap((name) => {
    if (name.toLowerCase() === 'iso_left_tab') return keysOf('Shift+Tab');
    const key = keyOfCharacter(name) ?? byLowerCase.get(name.toLowerCase()) ?? foreignKey(name);
    if (key !== undefined) return key;
    throw new OperationError(
      'bad_request',
      `there is no key ${JSON.stringify(name)}; the nearest one is ${JSON.stringify(nearest(name))}`,
    );
  });
}

const byName = namedKeys();
const byLowerCase = new Map(Array.from(byName, ([name, key]) => [name.toLowerCase(), key]));

/** A made-up key for a character that no key of a US keyboard types. */
function foreignKey(name: string): Key | undefined {
  return Array.from(name).length === 1 && name > '\x7f'
    ? { key: name, code: '', keyCode: 0, location: 0, text: name }
    : undefined;
}

/** The known name with the fewest edits from `name`. */
function nearest(name: string): string {
  const distances = Array.from(byName.keys(), (known) => ({
    known,
    distance: distance(name.toLowerCase(), known.toLowerCase()),
  }));
  return distances.reduce((best, next) => (next.distance < best.distance ? next : best)).known;
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
