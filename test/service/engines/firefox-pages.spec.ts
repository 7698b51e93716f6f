import { setTimeout as sleep } from 'node:timers/promises';
import { expect, type Page } from '@playwright/test';
import { pngSize } from '../../../src/service/input/png.ts';
import { signInTo } from '../../support/views/dashboard.ts';
import { textOfTrace } from '../../support/runs/trace.ts';
import { clickAt, middle } from '../../support/views/live-view.ts';
import { videoOf } from '../../support/views/replays.ts';
import { createPool, headersOf, test } from './firefox-test.ts';
import { firefoxHere, noFirefox } from './firefox-here.ts';

test.skip(!firefoxHere, noFirefox);
test.setTimeout(120_000);

/** A page that records its input. */
const recorder = `
  <body style="margin: 0; height: 3000px; background: lime"><textarea style="width: 300px; height: 100px"></textarea>
  <script>
    var events = [];
    for (const type of ['mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'keydown', 'keyup', 'wheel'])
      addEventListener(type, ({ clientX: x, clientY: y, button, key, shiftKey }) =>
        events.push([type, ...(key === undefined ? [x, y, button] : [key]), ...(shiftKey ? ['shift'] : [])].join(' ')));
  </script>`;

test('mouse, keyboard and screenshots act on the page in view', async ({ service, call, lease, session }, testInfo) => {
  await createPool(call);
  const browser = await lease();
  const { session_id } = await session();
  const act = async (name: string, body: object) => {
    const { status, body: answer } = await call('POST', `/browsers/${session_id}/computer/${name}`, body);
    return { status, answer };
  };
  const noPage = { status: 409, answer: { message: expect.stringContaining('the session has no page') } };
  expect(await act('screenshot', {})).toMatchObject(noPage);

  const first = await browser.newPage({ viewport: { width: 640, height: 400 } });
  await first.setContent(recorder);
  await first.context().tracing.start();
  expect((await act('click_mouse', { x: 500, y: 300 })).status).toBe(200);
  expect(await forget(first)).toEqual(['mousedown 500 300 0', 'mouseup 500 300 0', 'click 500 300 0']);
  await act('click_mouse', { x: 500, y: 301, num_clicks: 2, hold_keys: ['Shift'] });
  // Playwright makes no double clicks by BiDi.
  expect((await forget(first)).filter((event) => event === 'click 500 301 0 shift')).toHaveLength(2);
  await act('click_mouse', { x: 500, y: 302, button: 'right' });
  expect(await forget(first)).toContain('contextmenu 500 302 2');
  await act('scroll', { x: 500, y: 300, delta_y: 2 });
  await expect.poll(() => first.evaluate('scrollY')).toBe(240);
  await act('scroll', { x: 500, y: 300, delta_y: -2 });
  await expect.poll(() => first.evaluate('scrollY')).toBe(0);
  await act('click_mouse', { x: 50, y: 50 });
  const text = 'Hällo, (World)!\nüber 5 € \u{1f600}';
  await act('type', { text });
  await expect(first.locator('textarea')).toHaveValue(text);
  await act('press_key', { keys: ['ctrl+a'] });
  await act('press_key', { keys: ['KP_5'] });
  await act('press_key', { keys: ['Return', 'Shift+x'] });
  await expect(first.locator('textarea')).toHaveValue('5\nX');
  expect(await act('press_key', { keys: ['F20'] })).toMatchObject({ status: 409 });
  expect(await act('click_mouse', { x: 1, y: 1, button: 'back' })).toMatchObject({ status: 409 });
  expect(await act('click_mouse', { x: 5000, y: 1 })).toMatchObject({ status: 400 });
  expect((await call('POST', `/browsers/${session_id}/computer/get_mouse_position`)).body).toEqual({ x: 1, y: 1 });

  const screenshot = async (body: object) => {
    const url = `${service.url}/browsers/${session_id}/computer/screenshot`;
    const headers = { ...headersOf(service), 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    return Buffer.from(await response.arrayBuffer());
  };
  expect(await screenshot({})).toEqual(await first.screenshot({ caret: 'initial' }));
  expect(pngSize(await screenshot({ region: { x: 10, y: 20, width: 30, height: 40 } }))).toEqual({
    width: 30,
    height: 40,
  });

  // The trace has the client's screenshot, and nothing of the service's.
  const trace = testInfo.outputPath('trace.zip');
  await first.context().tracing.stop({ path: trace });
  expect((await textOfTrace(trace)).match(/"method":"(screenshot|mouse|keyboard)[^"]*"/g)).toEqual([
    '"method":"screenshot"',
  ]);

  const second = await browser.newPage();
  await second.setContent('<input autofocus>');
  await second.locator('input').focus();
  await first.locator('textarea').fill('');
  const typedInto = async (mark: string) => {
    await act('type', { text: mark });
    return [await first.locator('textarea').inputValue(), await second.locator('input').inputValue()];
  };
  expect(await typedInto('a')).toEqual(['', 'a']);
  await first.bringToFront();
  expect(await typedInto('b')).toEqual(['b', 'a']);
  await first.context().close();
  await act('type', { text: 'c' });
  await expect(second.locator('input')).toHaveValue('ac');
  await browser.close();
});

test('the clipboard is that of the pages, and empty for the next lease', async ({ call, lease, session }) => {
  await createPool(call);
  for (const filledBy of ['service', 'page', 'nothing'] as const) {
    const browser = await lease('pool=ci&release=reuse');
    const { session_id } = await session();
    const clipboard = (action: string, body?: object) =>
      call('POST', `/browsers/${session_id}/computer/clipboard/${action}`, body);
    const page = await browser.newPage();
    await page.setContent('<textarea></textarea>');
    await page.locator('textarea').press('Control+V');
    expect(await page.locator('textarea').inputValue()).toBe('');
    const copy = async () => {
      await page.locator('textarea').fill('of the page');
      await page.locator('textarea').press('Control+A');
      await page.locator('textarea').press('Control+C');
    };
    if (filledBy === 'page') await copy();
    if (filledBy === 'service') {
      const text = 'wörter "quoted"\n\\ €';
      expect((await clipboard('write', { text })).status).toBe(200);
      expect((await clipboard('read')).body).toEqual({ text });
      await page.locator('textarea').press('Control+V');
      await expect(page.locator('textarea')).toHaveValue(text);
      await copy();
      expect((await clipboard('read')).body).toEqual({ text: 'of the page' });
      expect(browser.contexts()).toHaveLength(1);
    }
    await browser.close();
    await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.acquired_count).toBe(0);
  }
});

test('the live view and the dashboard show the page in view, and the live view takes input', async ({
  service,
  call,
  lease,
  session,
  page: viewer,
}) => {
  await createPool(call);
  const browser = await lease();
  const { browser_live_view_url } = await session();
  const page = await browser.newPage({ viewport: { width: 640, height: 400 } });
  await page.setContent(recorder);
  await viewer.goto(browser_live_view_url);
  await expect(viewer.getByRole('status')).toHaveText('Live');
  await expect.poll(() => middle(viewer)).toBe('010');
  await page.evaluate('document.body.style.background = "blue"');
  await expect.poll(() => middle(viewer)).toBe('001');

  await clickAt(viewer, 0.5, 0.75);
  await expect
    .poll(() => page.evaluate('events'))
    .toEqual(['mousedown 320 300 0', 'mouseup 320 300 0', 'click 320 300 0']);
  await clickAt(viewer, 0.1, 0.1);
  await viewer.keyboard.type('Typed 1\nß');
  await expect(page.locator('textarea')).toHaveValue('Typed 1\nß');
  await viewer.mouse.wheel(0, 300);
  await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(100);

  const second = await browser.newPage();
  await second.setContent('<body style="background: red">');
  await expect.poll(() => middle(viewer)).toBe('100');
  await page.goto('data:text/html,<title>third</title>');
  await page.bringToFront();
  await expect(viewer.getByText('data:text/html,<title>third</title>')).toBeVisible();

  await signInTo(viewer, service, '#wall');
  await expect(viewer.locator('.thumbnail img')).toHaveCount(1);

  await viewer.goto(browser_live_view_url);
  await expect(viewer.getByRole('status')).toHaveText('Live');
  await browser.close();
  await expect(viewer.getByRole('status')).toHaveText(/^Ended/);
});

test('a replay records what the pages show, until the lease ends', async ({ service, call, lease, session }) => {
  await createPool(call);
  const browser = await lease();
  const { session_id } = await session();
  const { status, body: replay } = await call('POST', `/browsers/${session_id}/replays`, { framerate: 10 });
  expect(status).toBe(201);
  const startedAt = Date.parse(replay.started_at);
  const shown: [string, number][] = [];
  const page = await browser.newPage({ viewport: { width: 640, height: 360 } });
  for (const color of ['red', 'lime', 'blue']) {
    await page.goto(`data:text/html,<body style="background:${color}">`);
    // A video has no event for a picture that it shows.
    await sleep(2000);
    shown.push([color, (Date.now() - startedAt) / 1000 - 0.2]);
  }
  await browser.close();
  const path = `/browsers/${session_id}/replays`;
  await expect.poll(async () => (await call('GET', path)).body[0].finished_at).not.toBeNull();
  await using video = await videoOf(service, `${path}/${replay.replay_id}`);
  for (const [color, second] of shown) expect(await video.colorAt(second)).toBe(color);
});

/** Returns the recorded events, and forgets them. */
async function forget(page: Page): Promise<string[]> {
  return await page.evaluate('events.splice(0)');
}
