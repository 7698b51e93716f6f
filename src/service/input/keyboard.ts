/** A key of a US keyboard, with the text that it types, if any. */
export type Key = { key: string; code: string; keyCode: number; location: number; text?: string; modifier?: number };

/** Shift's bit in CDP's input events. */
export const shift = 8;

/** The key that types a character; `undefined` if this keyboard lacks it. A line break is Enter, a tab is Tab. */
export function keyOfCharacter(character: string): Key | undefined {
  return characters.get(character);
}

/** The key while Shift is down. */
export function withShift(key: Key): Key {
  return (key.location === 0 && upper.get(key.code)) || key;
}

/** All named keys by name. X11 names come first, browser names second. */
export function namedKeys(): Map<string, Key> {
  return new Map([
    ...special.flatMap(([names, code, keyCode, key = code]) => named(names, { key, code, keyCode, location: 0 })),
    ...modifiers.flatMap(([key, modifier, keyCode, names]) => {
      const left: Key = { key, code: `${key}Left`, keyCode, location: 1, modifier };
      const right: Key = { key, code: `${key}Right`, keyCode, location: 2, modifier };
      return names.flatMap((name): [string, Key][] => [
        [name, left],
        [`${name}_L`, left],
        [`${name}_R`, right],
      ]);
    }),
    ...Array.from({ length: 24 }, (_, index): [string, Key] => {
      const key = `F${index + 1}`;
      return [key, { key, code: key, keyCode: 112 + index, location: 0 }];
    }),
    ...keypad.flatMap(([names, code, keyCode, key]) =>
      named(names, { key, code: `Numpad${code}`, keyCode, location: 3, ...typed(key) }),
    ),
    ...Array.from('0123456789', (key, digit): [string, Key] => [
      `KP_${key}`,
      { key, code: `Numpad${key}`, keyCode: 96 + digit, location: 3, text: key },
    ]),
    ...Array.from(punctuation, ([character, name]): [string, Key] => [name, characters.get(character)!]),
    ...named('Return Enter Linefeed', enter),
    ...named('Tab', tab),
    ...named('space', space),
  ]);
}

const enter: Key = { key: 'Enter', code: 'Enter', keyCode: 13, location: 0, text: '\r' };
const tab: Key = { key: 'Tab', code: 'Tab', keyCode: 9, location: 0 };
const space: Key = { key: ' ', code: 'Space', keyCode: 32, location: 0, text: ' ' };

/** Code, key code and the characters without and with Shift. */
const printable: [string, number, string][] = [
  ...Array.from('abcdefghijklmnopqrstuvwxyz', (letter): [string, number, string] => {
    const upper = letter.toUpperCase();
    return [`Key${upper}`, upper.charCodeAt(0), letter + upper];
  }),
  ...Array.from(')!@#$%^&*(', (shifted, digit): [string, number, string] => [
    `Digit${digit}`,
    48 + digit,
    digit + shifted,
  ]),
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

/** The key with Shift, by code. */
const upper = new Map(printable.map(([code, , both]) => [code, characters.get(both[1]!)]));

/** Modifiers with their bit in CDP's input events, their key code and their names. */
const modifiers: [key: string, bit: number, keyCode: number, names: string[]][] = [
  ['Control', 2, 17, ['Control', 'ctrl']],
  ['Shift', shift, 16, ['Shift']],
  ['Alt', 1, 18, ['Alt', 'option']],
  ['Meta', 4, 91, ['Super', 'Meta', 'command', 'cmd', 'win']],
];

/** Names, code, key code, and the key if it differs from the code. */
const special: [names: string, code: string, keyCode: number, key?: string][] = [
  ['BackSpace', 'Backspace', 8],
  ['Escape Esc', 'Escape', 27],
  ['Delete Del', 'Delete', 46],
  ['Insert Ins', 'Insert', 45],
  ['Home', 'Home', 36],
  ['End', 'End', 35],
  ['Page_Up Prior PageUp', 'PageUp', 33],
  ['Page_Down Next PageDown', 'PageDown', 34],
  ['Left ArrowLeft', 'ArrowLeft', 37],
  ['Up ArrowUp', 'ArrowUp', 38],
  ['Right ArrowRight', 'ArrowRight', 39],
  ['Down ArrowDown', 'ArrowDown', 40],
  ['Caps_Lock CapsLock', 'CapsLock', 20],
  ['Num_Lock NumLock', 'NumLock', 144],
  ['Scroll_Lock ScrollLock', 'ScrollLock', 145],
  ['Pause Break', 'Pause', 19],
  ['Print PrintScreen Sys_Req', 'PrintScreen', 44],
  ['Menu ContextMenu', 'ContextMenu', 93],
  ['Help', 'Help', 47],
  ['ISO_Level3_Shift Mode_switch AltGr AltGraph', 'AltRight', 225, 'AltGraph'],
];

/** Names, code after `Numpad`, key code and key. */
const keypad: [names: string, code: string, keyCode: number, key: string][] = [
  ['KP_Enter', 'Enter', 13, 'Enter'],
  ['KP_Add', 'Add', 107, '+'],
  ['KP_Subtract', 'Subtract', 109, '-'],
  ['KP_Multiply', 'Multiply', 106, '*'],
  ['KP_Divide', 'Divide', 111, '/'],
  ['KP_Decimal', 'Decimal', 110, '.'],
  ['KP_Separator', 'Comma', 194, ','],
  ['KP_Equal', 'Equal', 187, '='],
  ['KP_Insert', '0', 45, 'Insert'],
  ['KP_End', '1', 35, 'End'],
  ['KP_Down', '2', 40, 'ArrowDown'],
  ['KP_Page_Down KP_Next', '3', 34, 'PageDown'],
  ['KP_Left', '4', 37, 'ArrowLeft'],
  ['KP_Begin', '5', 12, 'Clear'],
  ['KP_Right', '6', 39, 'ArrowRight'],
  ['KP_Home', '7', 36, 'Home'],
  ['KP_Up', '8', 38, 'ArrowUp'],
  ['KP_Page_Up KP_Prior', '9', 33, 'PageUp'],
  ['KP_Delete', 'Decimal', 46, 'Delete'],
];

/** X11's names of punctuation characters. */
const punctuation = new Map(
  Object.entries({
    '!': 'exclam',
    '"': 'quotedbl',
    '#': 'numbersign',
    $: 'dollar',
    '%': 'percent',
    '&': 'ampersand',
    "'": 'apostrophe',
    '(': 'parenleft',
    ')': 'parenright',
    '*': 'asterisk',
    '+': 'plus',
    ',': 'comma',
    '-': 'minus',
    '.': 'period',
    '/': 'slash',
    ':': 'colon',
    ';': 'semicolon',
    '<': 'less',
    '=': 'equal',
    '>': 'greater',
    '?': 'question',
    '@': 'at',
    '[': 'bracketleft',
    '\\': 'backslash',
    ']': 'bracketright',
    '^': 'asciicircum',
    _: 'underscore',
    '`': 'grave',
    '{': 'braceleft',
    '|': 'bar',
    '}': 'braceright',
    '~': 'asciitilde',
  }),
);

function named(names: string, key: Key): [string, Key][] {
  return names.split(' ').map((name) => [name, key]);
}

function typed(key: string): { text?: string } {
  if (key === 'Enter') return { text: '\r' };
  return key.length === 1 ? { text: key } : {};
}
