import { expect } from '@playwright/test';
import { keysOf } from '../../../src/service/input/key-names.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { forget, seen, test, told } from '../../support/service/input-events.ts';
import { computerOf } from '../../../src/service/input/computer.ts';

const field = '<textarea rows=8 cols=80></textarea>';

test('types literal text of all scripts, and pauses after each key', async ({ open, act: { type } }) => {
  const ours = await open(field);
  const text = 'Hello, World! ~`@#$%^&*()_+-=[]{}\\|;:\'",.<>/?\nÄrger — 日本語 👩‍👩‍👧‍👦é\r\n\n end {Enter}';
  await type({ text });
  await expect(ours.locator('textarea')).toHaveValue(text.replace('\r\n', '\n'));
  const keys = await seen(ours, 'keydown');
  expect(keys.every(({ isTrusted }) => isTrusted)).toBe(true);
  expect(keys.slice(0, 5).map(({ key }) => key)).toEqual(['H', 'e', 'l', 'l', 'o']);
  expect(keys.filter(({ key }) => key === 'Enter')).toHaveLength(3);
  await type({ text: '' });

  await forget(ours);
  const startedAt = performance.now();
  await type({ text: 'abé日', delay: 100 });
  expect(performance.now() - startedAt).toBeGreaterThan(390);
  expect((await seen(ours, 'input')).map(({ data }) => data)).toEqual(['a', 'b', 'é', '日']);
});

test('typing with pauses begins at once, however long the text is', async ({ session, open }) => {
  const ours = await open(field);
  const over = new AbortController();
  const letters = ['🇯🇵', 'e\u0301', '日'];
  const typed = computerOf(session).perform(
    { type: 'type_text', type_text: { text: letters.join('').repeat(30_000), delay: 10 } },
    over.signal,
  );
  const refused = expect(typed).rejects.toThrow('enough');
  await expect
    .poll(async () => (await seen(ours, 'input')).slice(0, 4).map(({ data }) => data))
    .toEqual([...letters, letters[0]]);
  over.abort(new Error('enough'));
  await refused;
});

test('tabs and pages move the focus between fields, and a typed line break sends a form', async ({ open, act }) => {
  const { press, type } = act;
  const form = await open('<form><input name=a><input name=b><button></button></form>');
  await type({ text: 'first\tsecond\n' });
  await form.waitForURL('**/?a=first&b=second');
  await form.locator('[name=a]').focus();
  await type({ text: 'third' });
  await expect(form.locator('[name=a]')).toHaveValue('third');

  const single = await open('<input maxlength=1 oninput="this.nextElementSibling?.focus()">'.repeat(6));
  await type({ text: '314159' });
  const inputs = single.locator('input');
  const values = inputs.evaluateAll((all) => all.map((input) => (input as HTMLInputElement).value));
  expect((await values).join('')).toBe('314159');

  const ours = await open('<input id=a><input id=b><input id=c>');
  const focused = () => ours.evaluate('document.activeElement.id');
  await press({ keys: ['Tab', 'Tab'] });
  expect(await focused()).toBe('c');
  await press({ keys: ['ISO_Left_Tab'] });
  expect(await focused()).toBe('b');
  await press({ keys: ['Tab'], hold_keys: ['Shift'] });
  expect(await focused()).toBe('a');
});

test('types long texts without a mistake, also letters without keys', async ({ open, act: { type } }) => {
  const times = isLong ? 1000 : 100;
  for (const text of ['abcdefghi '.repeat(times / 10), 'äöüß日本語éàç'.repeat(times)]) {
    const ours = await open('<textarea></textarea>');
    await type({ text });
    expect(await ours.locator('textarea').inputValue()).toBe(text);
  }
});

test('taps keys in order, and presses several together', async ({ open, act: { press, type } }) => {
  const ours = await open(field);
  await press({ keys: ['a', 'BackSpace', 'X', 'Return', 'plus', 'space', 'KP_7', '日'] });
  await expect(ours.locator('textarea')).toHaveValue('X\n+ 7日');
  const codes = ['a KeyA', 'Backspace Backspace', 'X KeyX', 'Enter Enter', '+ Equal', '  Space', '7 Numpad7', '日 '];
  expect(told(await seen(ours, 'keydown', 'keyup'), 'type', 'key', 'code')).toEqual(
    codes.flatMap((key) => [`keydown ${key}`, `keyup ${key}`]),
  );
  expect((await seen(ours, 'keydown')).map(({ location }) => location)).toEqual([0, 0, 0, 0, 0, 0, 3, 0]);

  await ours.locator('textarea').fill('');
  await type({ text: 'one two' });
  await press({
    keys: ['Control+a', 'ctrl+c', 'End', 'CONTROL+v', 'Shift+Left', 'Control_L+x', 'shift+t', 'Shift+1', 'ctrl++'],
  });
  await expect(ours.locator('textarea')).toHaveValue('one twoone twT!');
  expect((await seen(ours, 'copy', 'cut', 'paste')).map(({ type }) => type)).toEqual(['copy', 'paste', 'cut']);
  await forget(ours);
  await press({ keys: ['Alt+Super_R+F5'] });
  const events = await seen(ours, 'keydown', 'keyup');
  expect(told(events, 'type', 'code', 'location', 'modifiers')).toEqual([
    'keydown AltLeft 1 alt',
    'keydown MetaRight 2 alt+meta',
    'keydown F5 0 alt+meta',
    'keyup F5 0 alt+meta',
    'keyup MetaRight 2 alt',
    'keyup AltLeft 1 ',
  ]);
});

test('holds several keys for the given time, and releases them if aborted', async ({ open, act: { press, type } }) => {
  const ours = await open(field);
  const startedAt = performance.now();
  await press({ keys: ['w', 'Right'], duration: 300, hold_keys: ['shift'] });
  expect(performance.now() - startedAt).toBeGreaterThan(290);
  const keys = ['Shift', 'W', 'ArrowRight'];
  expect(told(await seen(ours, 'keydown', 'keyup'), 'type', 'key')).toEqual([
    ...keys.map((key) => `keydown ${key}`),
    ...keys.toReversed().map((key) => `keyup ${key}`),
  ]);

  await ours.locator('textarea').fill('');
  await forget(ours);
  const abort = new AbortController();
  const pressed = press({ keys: ['q'], duration: 60_000, hold_keys: ['shift'] }, abort.signal);
  const refused = expect(pressed).rejects.toThrow('hung up');
  await expect(ours.locator('textarea')).toHaveValue('Q');
  abort.abort(new Error('hung up'));
  await refused;
  expect((await seen(ours, 'keyup')).map(({ key }) => key)).toEqual(['Q', 'Shift']);
  await type({ text: 'after' });
  await expect(ours.locator('textarea')).toHaveValue('Qafter');
});

test('refuses an unknown key before pressing any, and suggests the nearest name', async ({ open, act }) => {
  const { press, click, batch } = act;
  const ours = await open(field);
  const nearestNames = { Retrun: 'Return', PagUp: 'PageUp', Backspce: 'BackSpace', Contrl: 'Control', F25: 'F2' };
  for (const [name, nearest] of Object.entries(nearestNames)) {
    const message = `there is no key "${name}"; the nearest one is "${nearest}"`;
    await expect(press({ keys: ['a', `shift+${name}`] })).rejects.toMatchObject({ code: 'bad_request', message });
  }
  await expect(press({ keys: ['a'], hold_keys: ['Hyper'] })).rejects.toMatchObject({ code: 'bad_request' });
  await expect(click({ x: 1, y: 1, hold_keys: ['a+'] })).rejects.toMatchObject({ code: 'bad_request' });
  const message = 'actions[1] (press_key): there is no key "Tap"; the nearest one is "Tab"';
  const actions = [
    { type: 'type_text', type_text: { text: 'x' } },
    { type: 'press_key', press_key: { keys: ['Tap'] } },
  ];
  await expect(batch(actions)).rejects.toMatchObject({ code: 'bad_request', message });
  expect(await seen(ours, 'keydown', 'mousemove')).toEqual([]);
});

test('accepts key names of X11 and of browsers, in any case', () => {
  const codes: Record<string, string[]> = {
    Enter: ['Return', 'enter', 'KP_Enter'],
    Backspace: ['BackSpace', 'backspace'],
    PageUp: ['Page_Up', 'Prior', 'PageUp', 'KP_Page_Up'],
    PageDown: ['Page_Down', 'Next'],
    ArrowLeft: ['Left', 'ArrowLeft', 'KP_Left'],
    Escape: ['Escape', 'esc', 'ESC'],
    F12: ['F12', 'f12'],
    ' ': ['space', ' '],
    ',': ['comma', ',', 'KP_Separator'],
    Control: ['Control', 'ctrl', 'Control_L', 'ctrl_r'],
    Meta: ['Super', 'super_l', 'Meta', 'cmd', 'Win'],
    Alt: ['alt', 'Alt_R', 'option'],
    AltGraph: ['ISO_Level3_Shift', 'AltGr'],
  };
  for (const [key, names] of Object.entries(codes)) {
    for (const name of names) expect(keysOf(name), name).toMatchObject([{ key }]);
  }
  expect(keysOf('+')).toMatchObject([{ key: '+' }]);
  expect(keysOf('Control+Shift++').map(({ key }) => key)).toEqual(['Control', 'Shift', '+']);
});
