import { OperationError } from '../../contract/errors.ts';
import { nearestName } from '../process/nearest-name.ts';
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
      `there is no key ${JSON.stringify(name)}; the nearest one is ${JSON.stringify(nearestName(name, byName.keys()))}`,
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
