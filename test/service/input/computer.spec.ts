import { expect, type Page } from '@playwright/test';
import type { LocalSession } from '../../../src/service/sessions/local/local-session.ts';
import { page, test } from '../../support/service/browser-sessions.ts';
import { actionsOf, openPage, recording, seen } from '../../support/service/input-events.ts';
import { computerOf } from '../../../src/service/input/computer.ts';

const field = recording('<textarea></textarea>');

/** Types into the page in view, and says which of the pages that was. */
async function inView(session: LocalSession, pages: Page[]): Promise<Page | undefined> {
  const mark = `${Math.random()}`;
  await Promise.all(pages.map((ours) => ours.locator('input').focus()));
  await actionsOf(session).type({ text: mark });
  for (const ours of pages) if ((await ours.locator('input').inputValue()).endsWith(mark)) return ours;
  return undefined;
}

test.describe('the page in view', () => {
  test('actions go to the open page that was last opened or brought to the front, in any context @long', async ({
    session,
    site,
    connect,
  }) => {
    const { type, move } = actionsOf(session);
    const url = await site(page('<input><a href="/" target="_blank">open</a>'));
    await expect(type({ text: 'x' })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('the session has no page'),
    });
    await expect(move({ x: 1, y: 1 })).rejects.toMatchObject({ code: 'conflict' });
    await expect(computerOf(session).screenshot()).rejects.toMatchObject({ code: 'conflict' });

    const browser = await connect(session);
    const first = await openPage(browser, url);
    expect(await inView(session, [first])).toBe(first);
    const second = await openPage(browser, url);
    expect(await inView(session, [first, second])).toBe(second);
    await first.bringToFront();
    expect(await inView(session, [first, second])).toBe(first);
    const [popup] = await Promise.all([first.waitForEvent('popup'), first.getByText('open').click()]);
    expect(await inView(session, [first, second, popup])).toBe(popup);
    await popup.close();
    expect(await inView(session, [first, second])).toBe(first);
    await first.context().close();
    expect(await inView(session, [second])).toBe(second);
    await second.close();
    await expect(type({ text: 'x' })).rejects.toMatchObject({ code: 'conflict' });
  });

  test('actions reach the page in view after it went to another site', async ({ session, site, connect }) => {
    const { type, click } = actionsOf(session);
    const url = await site(recording('<input>'));
    const ours = await openPage(await connect(session), url);
    await type({ text: 'one' });
    await ours.goto(url.replace('localhost', '127.0.0.1'));
    await ours.locator('input').focus();
    await type({ text: 'two' });
    await expect(ours.locator('input')).toHaveValue('two');
    await click({ x: 500, y: 500 });
    expect(await seen(ours, 'click')).toHaveLength(1);
  });
});

test.describe('actions', () => {
  test('mouse and keyboard actions run one after another', async ({ session, site, connect }) => {
    const { type, move } = actionsOf(session);
    const ours = await openPage(await connect(session), await site(field));
    await Promise.all([
      type({ text: 'aaaa', delay: 20 }),
      type({ text: 'bbbb' }),
      move({ x: 5, y: 5 }),
      type({ text: 'cccc', delay: 5 }),
    ]);
    await expect(ours.locator('textarea')).toHaveValue('aaaabbbbcccc');
    expect((await seen(ours, 'input', 'mousemove')).findIndex(({ type }) => type === 'mousemove')).toBe(8);
  });

  test('actions end when the caller hangs up, and release the keys that they held', async ({
    session,
    site,
    connect,
  }) => {
    const { type, move } = actionsOf(session);
    const ours = await openPage(await connect(session), await site(field));
    const abort = new AbortController();
    const moved = move({ x: 100, y: 100, duration_ms: 5000, hold_keys: ['shift'] }, abort.signal);
    const waiting = type({ text: 'never' }, abort.signal);
    const refused = Promise.all([expect(moved).rejects.toThrow('hung up'), expect(waiting).rejects.toThrow('hung up')]);
    await expect.poll(async () => (await seen(ours, 'mousemove')).length).toBeGreaterThan(1);
    abort.abort(new Error('hung up'));
    await refused;
    await type({ text: 'after' });
    await expect(ours.locator('textarea')).toHaveValue('after');
    expect((await seen(ours, 'keyup'))[0]).toMatchObject({ key: 'Shift' });
  });

  test('actions end with their session', async ({ session }) => {
    await session.openPage('about:blank');
    const typed = actionsOf(session).type({ text: 'slow', delay: 100_000 });
    const refused = expect(typed).rejects.toMatchObject({ code: expect.stringMatching(/conflict|unavailable/) });
    await session.end();
    await refused;
  });

  test('actions end when their page is closed, and the next one goes to another page', async ({
    session,
    site,
    connect,
  }) => {
    const { type } = actionsOf(session);
    const browser = await connect(session);
    const url = await site(page('<input>'));
    const [other, ours] = [await openPage(browser, url), await openPage(browser, url)];
    const typed = type({ text: 'x'.repeat(1000), delay: 10 });
    const refused = expect(typed).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('closed'),
    });
    await expect(ours.locator('input')).toHaveValue(/x/);
    await ours.close();
    await refused;
    await type({ text: 'there' });
    await expect(other.locator('input')).toHaveValue('there');
  });

  test('actions end when their page crashes', async ({ session, connect }) => {
    const { type } = actionsOf(session);
    const ours = await openPage(await connect(session), 'about:blank');
    const cdp = await ours.context().newCDPSession(ours);
    const typed = type({ text: 'x'.repeat(1000), delay: 10 });
    const refused = expect(typed).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('crashed'),
    });
    cdp.send('Page.crash').catch(() => {});
    await refused;
  });

  test('actions wait at most 10 s for a page that shows a dialog, and work once the dialog is closed @long', async ({
    session,
    site,
    connect,
  }) => {
    const { type, click } = actionsOf(session);
    const ours = await openPage(await connect(session), await site(recording('<input><p onclick="alert()">alert</p>')));
    const dialogs: { accept: () => Promise<void> }[] = [];
    ours.on('dialog', (dialog) => dialogs.push(dialog));
    const box = (await ours.locator('p').boundingBox())!;
    const stuck = { code: 'conflict', message: expect.stringMatching(/did not answer for 10 s.*dialog/) };
    const startedAt = performance.now();
    await expect(
      click({ x: Math.round(box.x + 5), y: Math.round(box.y + 5), hold_keys: ['shift'] }),
    ).rejects.toMatchObject(stuck);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    await dialogs[0]!.accept();
    await ours.locator('input').focus();
    await type({ text: 'on' });
    await expect(ours.locator('input')).toHaveValue('on');
  });
});

test.describe('a batch', () => {
  test('a batch runs all kinds of actions in their order', async ({ session, site, connect }) => {
    const { batch } = actionsOf(session);
    const ours = await openPage(await connect(session), await site(field));
    const startedAt = performance.now();
    await batch([
      { type: 'type_text', type_text: { text: 'one' } },
      { type: 'press_key', press_key: { keys: ['Return'] } },
      { type: 'sleep', sleep: { duration_ms: 200 } },
      { type: 'set_cursor', set_cursor: { hidden: true } },
      { type: 'move_mouse', move_mouse: { x: 20, y: 20, smooth: false } },
      { type: 'click_mouse', click_mouse: { x: 400, y: 400, button: 'right' } },
      {
        type: 'drag_mouse',
        drag_mouse: {
          path: [
            [400, 400],
            [420, 420],
          ],
        },
      },
      { type: 'scroll', scroll: { x: 400, y: 400, delta_y: 1 } },
    ]);
    expect(performance.now() - startedAt).toBeGreaterThan(200);
    await expect(ours.locator('textarea')).toHaveValue('one\n');
    await expect.poll(() => seen(ours, 'wheel')).toHaveLength(1);
    const types = (await seen(ours, 'keyup', 'contextmenu', 'mousedown', 'wheel')).map(({ type }) => type);
    expect(types).toEqual(['keyup', 'keyup', 'keyup', 'keyup', 'mousedown', 'contextmenu', 'mousedown', 'wheel']);
  });

  test('other actions do not interrupt a batch', async ({ session, site, connect }) => {
    const { batch, type } = actionsOf(session);
    const ours = await openPage(await connect(session), await site(field));
    const first = batch([
      { type: 'type_text', type_text: { text: 'a' } },
      { type: 'sleep', sleep: { duration_ms: 200 } },
      { type: 'type_text', type_text: { text: 'b' } },
    ]);
    await Promise.all([first, type({ text: 'c' })]);
    await expect(ours.locator('textarea')).toHaveValue('abc');
  });

  test('a batch continues on the page behind a closed one, and stops at the first action that fails, with its number @long', async ({
    session,
    site,
    connect,
  }) => {
    const { batch } = actionsOf(session);
    const ours = await openPage(
      await connect(session),
      await site(recording('<input onkeyup="if (event.key === \'x\') window.close()">')),
    );
    const popup = ours.waitForEvent('popup');
    await ours.evaluate('void open(location.href)');
    await (await popup).locator('input').focus();
    const closed = (await popup).waitForEvent('close');
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

  test('a batch is checked as a whole before its first action', async ({ session, site, connect }) => {
    const { batch } = actionsOf(session);
    const ours = await openPage(await connect(session), await site(field));
    const actions = [
      { type: 'click_mouse', click_mouse: { x: 10, y: 10 } },
      {
        type: 'drag_mouse',
        drag_mouse: {
          path: [
            [0, 0],
            [1280, 719],
          ],
        },
      },
    ];
    const message = 'actions[1] (drag_mouse): coordinates exceed screen bounds (max: 1279x719): 1280,719';
    await expect(batch(actions)).rejects.toMatchObject({ code: 'bad_request', message });
    expect(await seen(ours, 'mousemove', 'mousedown')).toEqual([]);
    expect(computerOf(session).mousePosition()).toEqual({ x: 0, y: 0 });
  });
});
