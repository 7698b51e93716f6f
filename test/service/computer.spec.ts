import { expect, type Browser, type Page } from '@playwright/test';
import type { Session } from '../../src/service/browsers/session.ts';
import { page, test } from '../support/browser-sessions.ts';

/** Writes down the input events that it gets. */
const recorder = page(`
  <textarea></textarea><input>
  <script>
    window.events = [];
    for (const type of ['mousemove', 'keydown', 'keyup', 'input']) {
      addEventListener(type, ({ clientX, clientY, key, data, ctrlKey, isTrusted }) => events.push({ type, clientX, clientY, key, data, ctrlKey, isTrusted }), true);
    }
  </script>`);

type InputEvent = { type: string; clientX: number; clientY: number; key: string; data: string; ctrlKey: boolean; isTrusted: boolean };

const move = (session: Session, x: number, y: number, more: object = {}, signal?: AbortSignal) =>
  session.computer.moveMouse({ x, y, hold_keys: [], smooth: false, ...more }, signal);
const type = (session: Session, text: string, delay = 0, signal?: AbortSignal) => session.computer.typeText({ text, delay }, signal);

async function eventsOf(ours: Page, ...types: string[]): Promise<InputEvent[]> {
  const events: InputEvent[] = await ours.evaluate('events');
  return events.filter((event) => types.includes(event.type));
}

/** Types into the page in view, and says which of the pages that was. */
async function inView(session: Session, pages: Page[]): Promise<Page | undefined> {
  const mark = `${Math.random()}`;
  await Promise.all(pages.map((ours) => ours.locator('input').focus()));
  await type(session, mark);
  for (const ours of pages) if ((await ours.locator('input').inputValue()).endsWith(mark)) return ours;
  return undefined;
}

test.describe('the mouse', () => {
  test('jumps to a point and stays there', async ({ session, site, connect }) => {
    expect(session.computer.mousePosition()).toEqual({ x: 0, y: 0 });
    const ours = await openPage(await connect(session), await site(recorder));
    await move(session, 300, 200);
    const points = (await eventsOf(ours, 'mousemove')).filter(({ clientX }) => clientX > 0);
    expect(points).toEqual([expect.objectContaining({ clientX: 300, clientY: 200, isTrusted: true })]);
    expect(session.computer.mousePosition()).toEqual({ x: 300, y: 200 });
  });

  test('glides there over a few points, in the time that is asked for', async ({ session, site, connect }) => {
    const ours = await openPage(await connect(session), await site(recorder));
    await move(session, 500, 400, { smooth: true });
    const points = await eventsOf(ours, 'mousemove');
    expect(points.length).toBeGreaterThan(2);
    expect(points.at(-1)).toMatchObject({ clientX: 500, clientY: 400 });
    expect(points.map(({ clientX }) => clientX)).toEqual(points.map(({ clientX }) => clientX).sort((a, b) => a - b));

    const startedAt = performance.now();
    await move(session, 0, 0, { smooth: true, duration_ms: 600 });
    expect(performance.now() - startedAt).toBeGreaterThan(550);
    expect((await eventsOf(ours, 'mousemove')).length).toBeGreaterThan(points.length + 5);
  });

  test('moves while keys are held', async ({ session, site, connect }) => {
    const ours = await openPage(await connect(session), await site(recorder));
    await move(session, 10, 10, { hold_keys: ['Ctrl', 'a'] });
    const events = (await eventsOf(ours, 'keydown', 'mousemove', 'keyup')).filter(({ clientX }) => clientX !== 0);
    expect(events.map(({ type, key, ctrlKey }) => [type, key, ctrlKey])).toEqual([
      ['keydown', 'Control', true],
      ['keydown', 'a', true],
      ['mousemove', undefined, true],
      ['keyup', 'Control', false],
      ['keyup', 'a', false],
    ]);
    await expect(ours.locator('textarea')).toHaveValue('');
  });

  test('stays on the screen', async ({ session }) => {
    for (const [x, y] of [
      [1280, 0],
      [0, 720],
      [-1, 0],
    ] as const) {
      const message = `the point ${x},${y} is outside the screen, which goes from 0,0 to 1279,719`;
      await expect(move(session, x, y)).rejects.toMatchObject({ code: 'bad_request', message });
    }
    await expect(move(session, 1, 1, { hold_keys: ['Hyper_L'] })).rejects.toMatchObject({ code: 'bad_request' });
  });
});

test.describe('typing', () => {
  test('enters literal text with line breaks and letters of all scripts', async ({ session, site, connect }) => {
    const ours = await openPage(await connect(session), await site(recorder));
    const text = 'Hello, World! ~`@#$%^&*()_+-=[]{}\\|;:\'",.<>/?\nÄrger — 日本語 👩‍👩‍👧‍👦é\r\n\n end {Enter}';
    await type(session, text);
    await expect(ours.locator('textarea')).toHaveValue(text.replace('\r\n', '\n'));
    const keys = await eventsOf(ours, 'keydown');
    expect(keys.every(({ isTrusted }) => isTrusted)).toBe(true);
    expect(keys.slice(0, 5).map(({ key }) => key)).toEqual(['H', 'e', 'l', 'l', 'o']);
    expect(keys.filter(({ key }) => key === 'Enter')).toHaveLength(3);
    await type(session, '');
  });

  test('moves on with a tab and sends a form with a line break', async ({ session, site, connect }) => {
    const ours = await openPage(await connect(session), await site(page('<form><input name=a><input name=b><button></button></form>')));
    await type(session, 'first\tsecond\n');
    await ours.waitForURL('**/?a=first&b=second');
    await ours.locator('[name=a]').focus();
    await type(session, 'third');
    await expect(ours.locator('[name=a]')).toHaveValue('third');
  });

  test('pauses after each key', async ({ session, site, connect }) => {
    const ours = await openPage(await connect(session), await site(recorder));
    const startedAt = performance.now();
    await type(session, 'abé日', 100);
    expect(performance.now() - startedAt).toBeGreaterThan(390);
    expect((await eventsOf(ours, 'input')).map(({ data }) => data)).toEqual(['a', 'b', 'é', '日']);
  });

  test('of a long text is right and takes no longer than with Playwright', async ({ session, site, connect }) => {
    const ours = await openPage(await connect(session), await site(page('<textarea></textarea>')));
    const text = Array.from({ length: 2_000 }, (_, index) => 'abcdefghi '[index % 10]).join('');
    const ofPlaywright = await timeOf(() => ours.keyboard.type(text));
    await ours.locator('textarea').fill('');
    const ofOurs = await timeOf(() => type(session, text));
    expect(await ours.locator('textarea').inputValue()).toBe(text);
    expect(ofOurs).toBeLessThan(1.3 * ofPlaywright);
  });
});

test.describe('the page in view', () => {
  test('is the one that was opened or brought to the front last and still exists, in whatever context', async ({
    session,
    site,
    connect,
  }) => {
    const url = await site(page('<input><a href="/" target="_blank">open</a>'));
    await expect(type(session, 'x')).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('no page to act on') });
    await expect(move(session, 1, 1)).rejects.toMatchObject({ code: 'conflict' });

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
    await expect(type(session, 'x')).rejects.toMatchObject({ code: 'conflict' });
  });

  test('is acted on after it went to another site', async ({ session, site, connect }) => {
    const url = await site(page('<input>'));
    const ours = await openPage(await connect(session), url);
    await type(session, 'one');
    await ours.goto(url.replace('localhost', '127.0.0.1'));
    await ours.locator('input').focus();
    await type(session, 'two');
    await expect(ours.locator('input')).toHaveValue('two');
  });
});

test.describe('actions', () => {
  test('run one after another', async ({ session, site, connect }) => {
    const ours = await openPage(await connect(session), await site(recorder));
    await Promise.all([type(session, 'aaaa', 20), type(session, 'bbbb'), move(session, 5, 5), type(session, 'cccc', 5)]);
    await expect(ours.locator('textarea')).toHaveValue('aaaabbbbcccc');
    const events = await eventsOf(ours, 'input', 'mousemove');
    expect(events.filter(({ clientX }) => clientX !== 0).findIndex(({ type }) => type === 'mousemove')).toBe(8);
  });

  test('end when the caller is gone, and let go the keys that they held', async ({ session, site, connect }) => {
    const ours = await openPage(await connect(session), await site(recorder));
    const abort = new AbortController();
    const moved = move(session, 100, 100, { smooth: true, duration_ms: 5000, hold_keys: ['shift'] }, abort.signal);
    const waiting = type(session, 'never', 0, abort.signal);
    const refused = Promise.all([expect(moved).rejects.toThrow('hung up'), expect(waiting).rejects.toThrow('hung up')]);
    await expect.poll(async () => (await eventsOf(ours, 'mousemove')).length).toBeGreaterThan(1);
    abort.abort(new Error('hung up'));
    await refused;
    await type(session, 'after');
    await expect(ours.locator('textarea')).toHaveValue('after');
    expect((await eventsOf(ours, 'keyup'))[0]).toMatchObject({ key: 'Shift' });
  });

  test('end with the session', async ({ session }) => {
    await session.openPage('about:blank');
    const typed = type(session, 'slow', 100_000);
    const refused = expect(typed).rejects.toMatchObject({ code: expect.stringMatching(/conflict|unavailable/) });
    await session.end();
    await refused;
  });

  test('end when their page is closed, and the next one acts on another page', async ({ session, site, connect }) => {
    const browser = await connect(session);
    const url = await site(page('<input>'));
    const [other, ours] = [await openPage(browser, url), await openPage(browser, url)];
    const typed = type(session, 'x'.repeat(1000), 10);
    const refused = expect(typed).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('closed') });
    await expect(ours.locator('input')).toHaveValue(/x/);
    await ours.close();
    await refused;
    await type(session, 'there');
    await expect(other.locator('input')).toHaveValue('there');
  });
});

async function openPage(browser: Browser, url: string): Promise<Page> {
  const ours = await browser.newPage();
  await ours.goto(url);
  await ours.locator('input, textarea').first().focus();
  return ours;
}

async function timeOf(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await act();
  return performance.now() - startedAt;
}
