import { expect, type Page } from '@playwright/test';
import { settings } from '../../support/service/browser-sessions.ts';
import { actionsOf, focusFirstField, seen, test, way } from '../../support/service/input-events.ts';
import { computerOf } from '../../../src/service/input/computer.ts';

const field = '<textarea></textarea>';

test('actions go to the page that was last opened or brought to the front @long', async ({ session, open, act }) => {
  const { type, move } = act;
  const conflict = { code: 'conflict' };
  const message = expect.stringContaining('the session has no page');
  await expect(type({ text: 'x' })).rejects.toMatchObject({ ...conflict, message });
  await expect(move({ x: 1, y: 1 })).rejects.toMatchObject(conflict);
  await expect(computerOf(session).screenshot()).rejects.toMatchObject(conflict);

  /** Types into the page in view, and returns that page. */
  const inView = async (pages: Page[]): Promise<Page | undefined> => {
    const mark = `${Math.random()}`;
    await Promise.all(pages.map(focusFirstField));
    await type({ text: mark });
    for (const ours of pages) if ((await ours.locator('input').inputValue()).endsWith(mark)) return ours;
    return undefined;
  };
  const html = '<input><a href="/" target="_blank">open</a>';
  const first = await open(html);
  expect(await inView([first])).toBe(first);
  const second = await open(html);
  expect(await inView([first, second])).toBe(second);
  await first.bringToFront();
  expect(await inView([first, second])).toBe(first);
  const [popup] = await Promise.all([first.waitForEvent('popup'), first.getByText('open').click()]);
  expect(await inView([first, second, popup])).toBe(popup);
  await popup.close();
  expect(await inView([first, second])).toBe(first);
  await first.context().close();
  expect(await inView([second])).toBe(second);
  await second.close();
  await expect(type({ text: 'x' })).rejects.toMatchObject(conflict);
});

test('actions reach the page in view after it went to another site', async ({ open, act: { type, click } }) => {
  const ours = await open('<input>');
  await type({ text: 'one' });
  await ours.goto(ours.url().replace('localhost', '127.0.0.1'));
  await ours.locator('input').focus();
  await type({ text: 'two' });
  await expect(ours.locator('input')).toHaveValue('two');
  await click({ x: 500, y: 500 });
  expect(await seen(ours, 'click')).toHaveLength(1);
});

test('actions and batches of actions run one after another', async ({ open, act: { batch, type, move } }) => {
  const ours = await open(field);
  await Promise.all([
    type({ text: 'aaaa', delay: 20 }),
    type({ text: 'bbbb' }),
    move({ x: 5, y: 5 }),
    type({ text: 'cccc', delay: 5 }),
  ]);
  await expect(ours.locator('textarea')).toHaveValue('aaaabbbbcccc');
  expect((await seen(ours, 'input', 'mousemove')).findIndex(({ type }) => type === 'mousemove')).toBe(8);

  await ours.locator('textarea').fill('');
  const batched = batch([
    { type: 'type_text', type_text: { text: 'a' } },
    { type: 'sleep', sleep: { duration_ms: 200 } },
    { type: 'type_text', type_text: { text: 'b' } },
  ]);
  await Promise.all([batched, type({ text: 'c' })]);
  await expect(ours.locator('textarea')).toHaveValue('abc');
});

test('actions release their keys and end when the caller hangs up', async ({ open, act: { type, move } }) => {
  const ours = await open(field);
  const abort = new AbortController();
  const moved = move({ x: 700, y: 600, duration_ms: 5000, hold_keys: ['shift'] }, abort.signal);
  const waiting = type({ text: 'never' }, abort.signal);
  const refused = Promise.all([expect(moved).rejects.toThrow('hung up'), expect(waiting).rejects.toThrow('hung up')]);
  await expect.poll(async () => (await seen(ours, 'mousemove')).length).toBeGreaterThan(1);
  abort.abort(new Error('hung up'));
  await refused;
  await type({ text: 'after' });
  await expect(ours.locator('textarea')).toHaveValue('after');
  expect((await seen(ours, 'keyup'))[0]).toMatchObject({ key: 'Shift' });
});

test('actions end with their session', async ({ sessions }) => {
  const session = await sessions.create(settings);
  await session.openPage('about:blank');
  const typed = actionsOf(session).type({ text: 'slow', delay: 100_000 });
  const refused = expect(typed).rejects.toMatchObject({ code: expect.stringMatching(/conflict|unavailable/) });
  await session.end();
  await refused;
});

test('actions end when their page is closed or crashes, and then use another', async ({ open, act: { type } }) => {
  const other = await open('<input>');
  for (const end of ['closed', 'crashed']) {
    const ours = await open('<input>');
    const typed = type({ text: 'x'.repeat(1000), delay: 10 });
    const message = expect.stringContaining(end);
    const refused = expect(typed).rejects.toMatchObject({ code: 'conflict', message });
    await expect(ours.locator('input')).toHaveValue(/x/);
    if (end === 'closed') {
      await ours.close();
      await refused;
      await type({ text: 'there' });
      await expect(other.locator('input')).toHaveValue('there');
    } else {
      const cdp = await ours.context().newCDPSession(ours);
      cdp.send('Page.crash').catch(() => {});
      await refused;
    }
  }
});

test('actions wait at most 10 s for a page that shows a dialog @long', async ({ open, act: { type, click } }) => {
  const ours = await open('<input><p onclick="alert()">alert</p>');
  const dialogs: { accept: () => Promise<void> }[] = [];
  ours.on('dialog', (dialog) => dialogs.push(dialog));
  const box = (await ours.locator('p').boundingBox())!;
  const point = { x: Math.round(box.x + 5), y: Math.round(box.y + 5) };
  const stuck = { code: 'conflict', message: expect.stringMatching(/did not answer for 10 s.*dialog/) };
  const startedAt = performance.now();
  await expect(click({ ...point, hold_keys: ['shift'] })).rejects.toMatchObject(stuck);
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  await dialogs[0]!.accept();
  await ours.locator('input').focus();
  await type({ text: 'on' });
  await expect(ours.locator('input')).toHaveValue('on');
});

test('a batch is checked as a whole, and then runs all kinds of actions in order', async ({ session, open, act }) => {
  const { batch } = act;
  const ours = await open(field);
  const before = computerOf(session).mousePosition();
  const actions = [
    { type: 'click_mouse', click_mouse: { x: 11, y: 13 } },
    { type: 'drag_mouse', drag_mouse: { path: way([0, 0], [1280, 719]) } },
  ];
  const message = 'actions[1] (drag_mouse): coordinates exceed screen bounds (max: 1279x719): 1280,719';
  await expect(batch(actions)).rejects.toMatchObject({ code: 'bad_request', message });
  expect(await seen(ours, 'mousemove', 'mousedown')).toEqual([]);
  expect(computerOf(session).mousePosition()).toEqual(before);

  const startedAt = performance.now();
  await batch([
    { type: 'type_text', type_text: { text: 'one' } },
    { type: 'press_key', press_key: { keys: ['Return'] } },
    { type: 'sleep', sleep: { duration_ms: 200 } },
    { type: 'set_cursor', set_cursor: { hidden: true } },
    { type: 'move_mouse', move_mouse: { x: 20, y: 20, smooth: false } },
    { type: 'click_mouse', click_mouse: { x: 400, y: 400, button: 'right' } },
    { type: 'drag_mouse', drag_mouse: { path: way([400, 400], [420, 420]) } },
    { type: 'scroll', scroll: { x: 400, y: 400, delta_y: 1 } },
  ]);
  expect(performance.now() - startedAt).toBeGreaterThan(200);
  await expect(ours.locator('textarea')).toHaveValue('one\n');
  await expect.poll(() => seen(ours, 'wheel')).toHaveLength(1);
  const types = (await seen(ours, 'keyup', 'contextmenu', 'mousedown', 'wheel')).map(({ type }) => type);
  expect(types).toEqual(['keyup', 'keyup', 'keyup', 'keyup', 'mousedown', 'contextmenu', 'mousedown', 'wheel']);
});

test('a batch uses the page behind a closed one, and stops at a failed action @long', async ({ open, act }) => {
  const { batch } = act;
  const ours = await open('<input onkeyup="if (event.key === \'x\') window.close()">');
  const opened = ours.waitForEvent('popup');
  await ours.evaluate('void open(location.href)');
  const popup = await opened;
  await popup.locator('input').focus();
  const closed = popup.waitForEvent('close');
  const done = batch([
    { type: 'press_key', press_key: { keys: ['x'] } },
    { type: 'sleep', sleep: { duration_ms: 500 } },
    { type: 'type_text', type_text: { text: 'on the page behind' } },
  ]);
  await closed;
  await done;
  await expect(ours.locator('input')).toHaveValue('on the page behind');

  const typed = batch([
    { type: 'press_key', press_key: { keys: ['Home'] } },
    { type: 'type_text', type_text: { text: 'y'.repeat(100), delay: 50 } },
    { type: 'press_key', press_key: { keys: ['Return'] } },
  ]);
  const refused = expect(typed).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/^actions\[1\] \(type_text\): the page in view was closed/),
  });
  await expect(ours.locator('input')).toHaveValue(/^y/);
  await ours.close();
  await refused;
});
