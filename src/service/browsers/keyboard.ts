/** A key of a US keyboard with the character that it types, if any. */
export type Key = { key: string; code: string; keyCode: number; location: number; text?: string; modifier?: number };

/** The key that types a character; `undefined` for those that this keyboard lacks. Line breaks are Enter, tabs are Tab. */
export function keyOfCharacter(character: string): Key | undefined {
  return characters.get(character);
}

/** The key of a name, as X11 and browsers call it, or of a character. */
export function keyOfName(name: string): Key | undefined {
  return named.get(name.toLowerCase()) ?? characters.get(name);
}

/** Shift's bit in CDP's input events. */
export const shift = 8;

const enter: Key = { key: 'Enter', code: 'Enter', keyCode: 13, location: 0, text: '\r' };
const tab: Key = { key: 'Tab', code: 'Tab', keyCode: 9, location: 0 };
const space: Key = { key: ' ', code: 'Space', keyCode: 32, location: 0, text: ' ' };

/** Code, key code and the characters without and with Shift. */
const printable: [string, number, string][] = [
  ...Array.from('abcdefghijklmnopqrstuvwxyz', (letter): [string, number, string] => {
    const upper = letter.toUpperCase();
    return [`Key${upper}`, upper.charCodeAt(0), letter + upper];
  }),
  ...Array.from(')!@#$%^&*(', (shifted, digit): [string, number, string] => [`Digit${digit}`, 48 + digit, digit + shifted]),
  ['Backquote', 192, '`~'],
  ['Minus', 189, '-_'],
  ['Equal', 187, '=+'],
  ['Backslash', 220, '\\|'],
  ['BracketLeft', 219, '[{'],
  ['BracketRight', 221, ']}'],
  ['Semicolon', 186, ';:'],
  ['Quote', 222, '\'"'],
  ['Comma', 188, ',<'],
  ['Period', 190, '.>'],
  ['Slash', 191, '/?'],
];

const characters = new Map<string, Key>([
  ...printable.flatMap(([code, keyCode, both]) =>
    Array.from(both, (key): [string, Key] => [key, { key, code, keyCode, location: 0, text: key }]),
  ),
  [' ', space],
  ['\t', tab],
  ['\n', enter],
  ['\r', enter],
  ['\r\n', enter],
]);

/** Modifiers with their bit in CDP's input events, their key code and their names. */
const modifiers: [string, number, number, string[]][] = [
  ['Alt', 1, 18, ['alt', 'option']],
  ['Control', 2, 17, ['control', 'ctrl']],
  ['Meta', 4, 91, ['meta', 'super', 'command', 'cmd', 'win']],
  ['Shift', shift, 16, ['shift']],
];

const named = new Map<string, Key>([
  ['enter', enter],
  ['return', enter],
  ['tab', tab],
  ['space', space],
  ...modifiers.flatMap(([key, modifier, keyCode, names]) => {
    const left: Key = { key, code: `${key}Left`, keyCode, location: 1, modifier };
    const right: Key = { key, code: `${key}Right`, keyCode, location: 2, modifier };
    return names.flatMap((name): [string, Key][] => [
      [name, left],
      [`${name}_l`, left],
      [`${name}_r`, right],
    ]);
  }),
]);
