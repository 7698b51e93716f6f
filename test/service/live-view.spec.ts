import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';
import type { Session } from '../../src/service/browsers/session.ts';
import { TestClock } from '../support/clock.ts';
import { lowestContrast } from '../support/contrast.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { clickAt, eventsOf, middle, pointAt, socketOf, test } from '../support/live-view.ts';

test('shows the page in view, and the next one that comes into view', async ({ page, link, openPage }) => {
  await page.goto(link);
  await expect(page.getByRole('status')).toHaveText('Connected. The session shows no page yet.');
  const ours = await openPage();
  await expect(page.getByRole('status')).toHaveText('Live');
  await expect.poll(() => middle(page)).toBe('010');
  await ours.evaluate(() => (document.body.style.background = 'blue'));
  await expect.poll(() => middle(page)).toBe('001');
  await openPage({ viewport: { width: 400, height: 600 } }, '<body style="background: red">');
  await expect.poll(() => middle(page)).toBe('100');
  const size = () => page.locator('canvas').evaluate(({ width, height }: HTMLCanvasElement) => [width, height]);
  await expect.poll(size).toEqual([400, 600]);
});

test('says so when the last page was closed, and shows the next one', async ({ openPage, view }) => {
  const ours = await openPage();
  const viewer = await view();
  await expect.poll(() => middle(viewer)).toBe('010');
  await ours.close();
  await expect(viewer.getByRole('status')).toHaveText('Connected. The session shows no page any more.');
  expect(await middle(viewer)).toBe('000');
  await openPage();
  await expect(viewer.getByRole('status')).toHaveText('Live');
  await expect.poll(() => middle(viewer)).toBe('010');
});

test('the page is labelled, stays inside its own policy, and fits into the window', async ({ page, openPage, view }) => {
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await openPage();
  await view();
  await expect(page.locator('body')).toMatchAriaSnapshot(`
    - banner:
      - heading "Live view" [level=1]
      - status: Live
      - paragraph: /The keyboard goes to the session .* Shift\\+Esc gives it back/
    - main:
      - img "What the session shows"
      - textbox "Keyboard of the session"`);
  for (const size of [
    { width: 1600, height: 500 },
    { width: 320, height: 640 },
  ]) {
    await page.setViewportSize(size);
    const extent = await page.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      height: document.documentElement.scrollHeight,
    }));
    expect(extent).toEqual(size);
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await lowestContrast(page)).toBeGreaterThan(4.5);
  }
  expect(complaints).toEqual([]);
});

test('the mouse moves, clicks, drags and scrolls where the viewer does', async ({ openPage, view }) => {
  const ours = await openPage();
  const viewer = await view();
  await clickAt(viewer, 0.25, 0.5);
  await expect.poll(() => eventsOf(ours, 'click')).toHaveLength(1);
  const [click] = await eventsOf(ours, 'click');
  expect(Math.abs(click!.x - 320)).toBeLessThan(3);
  expect(Math.abs(click!.y - 360)).toBeLessThan(3);

  await clickAt(viewer, 0.75, 0.25, { clickCount: 2 });
  await expect.poll(() => eventsOf(ours, 'dblclick')).toHaveLength(1);
  await clickAt(viewer, 0.5, 0.5, { button: 'right' });
  await expect.poll(async () => (await eventsOf(ours, 'contextmenu')).map(({ button }) => button)).toEqual([2]);

  const from = await pointAt(viewer, 0.5, 0.5);
  await viewer.mouse.move(from.x, from.y);
  await viewer.mouse.down();
  // Out of the window's picture: the pointer stays captured.
  await viewer.mouse.move(2, 2, { steps: 3 });
  await viewer.mouse.up();
  await expect.poll(async () => (await eventsOf(ours, 'mouseup')).at(-1)).toMatchObject({ x: 0, y: 0, buttons: 0 });
  expect((await eventsOf(ours, 'mousemove')).filter(({ buttons }) => buttons === 1).length).toBeGreaterThan(0);

  await viewer.mouse.move(from.x, from.y);
  await viewer.mouse.wheel(0, 400);
  await expect.poll(() => ours.evaluate(() => scrollY)).toBe(400);
});

test('buttons of the mouse are held together, and released one by one', async ({ openPage, view }) => {
  const ours = await openPage();
  const viewer = await view();
  const { x, y } = await pointAt(viewer, 0.5, 0.5);
  await viewer.mouse.move(x, y);
  await viewer.mouse.down();
  await viewer.mouse.down({ button: 'right' });
  await viewer.mouse.up();
  await viewer.mouse.up({ button: 'right' });
  const changes = async () => (await eventsOf(ours, 'mousedown', 'mouseup')).map(({ button, buttons }) => [button, buttons]);
  await expect.poll(changes).toEqual([
    [0, 1],
    [2, 3],
    [0, 2],
    [2, 0],
  ]);
});

test("a mouse's buttons for back and forward are the session's alone", async ({ page, openPage, view }) => {
  const ours = await openPage();
  await page.goto('data:text/html,the page before');
  const viewer = await view();
  const { x, y } = await pointAt(viewer, 0.5, 0.5);
  const cdp = await viewer.context().newCDPSession(viewer);
  for (const [button, buttons] of [
    ['back', 8],
    ['forward', 16],
  ] as const) {
    await cdp.send('Input.dispatchMouseEvent', { type: 'mousePressed', x, y, button, buttons, clickCount: 1 });
    await cdp.send('Input.dispatchMouseEvent', { type: 'mouseReleased', x, y, button, buttons: 0, clickCount: 1 });
  }
  await expect.poll(async () => (await eventsOf(ours, 'mouseup')).map(({ button }) => button)).toEqual([3, 4]);
  await clickAt(viewer, 0.5, 0.5);
  await expect.poll(() => eventsOf(ours, 'click')).toHaveLength(1);
  await expect(viewer.getByRole('status')).toHaveText('Live');
});

test('the mouse hits its mark on a phone whose page is wider than its screen', async ({ openPage, view }) => {
  const ours = await openPage({ viewport: { width: 390, height: 844 }, isMobile: true, deviceScaleFactor: 3 });
  const viewer = await view();
  await clickAt(viewer, 0.5, 0.5);
  await expect.poll(() => eventsOf(ours, 'click')).toHaveLength(1);
  const [click] = await eventsOf(ours, 'click');
  expect(Math.abs(click!.x / (await ours.evaluate(() => innerWidth)) - 0.5)).toBeLessThan(0.01);
});

test('what is typed, pasted or composed arrives in the page', async ({ openPage, view }) => {
  const ours = await openPage();
  const viewer = await view();
  const field = ours.locator('input').first();
  await clickAt(viewer, 120 / 1280, 110 / 720);
  await expect(field).toBeFocused();
  await viewer.keyboard.type('Hello, W@rld');
  await viewer.keyboard.press('Backspace');
  await viewer.keyboard.insertText('日本');
  await expect(field).toHaveValue('Hello, W@rl日本');

  await viewer.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await viewer.evaluate(() => navigator.clipboard.writeText('pasted'));
  await viewer.keyboard.press('Control+A');
  await viewer.keyboard.press('Control+V');
  await expect(field).toHaveValue('pasted');

  await viewer.keyboard.press('Tab');
  await expect(ours.locator('input').nth(1)).toBeFocused();
  const shortcuts = (await eventsOf(ours, 'keydown')).filter(({ ctrlKey, key }) => ctrlKey && key !== 'Control');
  expect(shortcuts.map(({ key }) => key)).toEqual(['A']);
});

test('characters that need AltGr or Option are typed, shortcuts with Alt are not', async ({ openPage, view }) => {
  const ours = await openPage();
  const viewer = await view();
  await clickAt(viewer, 120 / 1280, 110 / 720);
  await viewer.evaluate(() => {
    for (const init of [
      { key: '@', code: 'KeyQ', ctrlKey: true, altKey: true, modifierAltGraph: true },
      { key: '€', code: 'KeyE', altKey: true },
      { key: 'x', code: 'KeyX', altKey: true },
      { key: '.', code: 'Period' },
    ]) {
      document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { cancelable: true, ...init }));
    }
  });
  await expect(ours.locator('input').first()).toHaveValue('@€.');
});

test('Shift+Escape gives the keyboard back, and no key stays pressed', async ({ openPage, view }) => {
  const ours = await openPage();
  const viewer = await view();
  await viewer.keyboard.press('Tab');
  await expect(viewer.getByRole('textbox')).toBeFocused();
  await viewer.keyboard.down('a');
  await viewer.keyboard.press('Shift+Escape');
  await expect(viewer.getByRole('textbox')).not.toBeFocused();
  await expect.poll(async () => (await eventsOf(ours, 'keyup')).map(({ key }) => key)).toContain('a');
  const before = await eventsOf(ours, 'keydown');
  expect(before.map(({ key }) => key)).not.toContain('Escape');
  await viewer.keyboard.press('b');
  // What was sent before has arrived once this has.
  await clickAt(viewer, 0.5, 0.5);
  await expect.poll(() => eventsOf(ours, 'click')).toHaveLength(1);
  expect(await eventsOf(ours, 'keydown')).toEqual(before);
});

test('what a viewer holds down is released when it leaves', async ({ openPage, connectViewer }) => {
  const ours = await openPage();
  const viewer = await connectViewer();
  await once(viewer, 'message');
  const mouse = { type: 'mouse', action: 'press', x: 0.5, y: 0.5, button: 'left', buttons: 1, clickCount: 1, modifiers: 0 };
  viewer.send(JSON.stringify(mouse));
  await expect.poll(() => eventsOf(ours, 'mousedown')).toHaveLength(1);
  viewer.terminate();
  await expect.poll(() => eventsOf(ours, 'mouseup')).toHaveLength(1);
});

test('readOnly shows all and takes nothing, neither the page nor its socket', async ({ openPage, view, connectViewer }) => {
  const ours = await openPage();
  const viewer = await view('&readOnly=true');
  await expect(viewer.getByText('Read only')).toBeVisible();
  await expect(viewer.getByRole('textbox')).toHaveCount(0);
  await clickAt(viewer, 0.5, 0.5);
  await viewer.keyboard.press('a');

  const socket = await connectViewer('&readOnly=true');
  const closed = once(socket, 'close');
  socket.send(JSON.stringify({ type: 'text', text: 'a' }));
  const [code, reason] = (await closed) as [number, Buffer];
  expect([code, String(reason)]).toEqual([1008, 'this live view is read only']);
  expect(await eventsOf(ours, 'mousedown', 'keydown')).toEqual([]);
  await expect(ours.locator('input').first()).toHaveValue('');
});

test('input that is none closes the socket', async ({ openPage, connectViewer }) => {
  await openPage();
  const mouse = { type: 'mouse', action: 'move', x: 0.5, y: 0.5, button: 'none', buttons: 0, clickCount: 0, modifiers: 0 };
  const wrong = ['', 'null', '[]', '{}', { ...mouse, x: 2 }, { ...mouse, y: null }, { ...mouse, button: 'sixth' }, { type: 'text' }];
  for (const input of [...wrong, Buffer.from([1])]) {
    const socket = await connectViewer();
    const closed = once(socket, 'close');
    socket.send(typeof input === 'string' || Buffer.isBuffer(input) ? input : JSON.stringify(input));
    const [code, reason] = (await closed) as [number, Buffer];
    expect([code, String(reason)], JSON.stringify(input)).toEqual([1008, 'the input was not understood']);
  }
});

test('a wrong token opens neither the page nor the socket', async ({ page, url, session }) => {
  for (const query of ['', '?jwt=', '?jwt=wrong', `?jwt=${session.token}`, `?jwt=${session.id}.`]) {
    expect((await page.goto(`${url}/browser/live${query}`))!.status()).toBe(404);
    await expect(page.getByRole('heading')).toHaveText('There is no such live view');
    const socket = new WebSocket(socketOf(`${url}/browser/live${query || '?'}`));
    const [, response] = await once(
      socket.on('error', () => {}),
      'unexpected-response',
    );
    expect((response as { statusCode: number }).statusCode).toBe(401);
    socket.terminate();
  }
});

for (const [what, end] of [
  ['the session ends', (session: Session) => session.end()],
  ['its lease is given back', (session: Session) => session.changeHands()],
] as const) {
  test(`the view ends when ${what}, and can't be opened again`, async ({ openPage, view, session, link }) => {
    await openPage();
    const viewer = await view();
    await end(session);
    await expect(viewer.getByRole('status')).toHaveText('Ended: the session has ended, or its lease was given back.');
    expect((await viewer.goto(link))!.status()).toBe(404);
  });
}

test('a view that lost its connection connects again', async ({ openPage, view, sockets, session }) => {
  await openPage();
  const viewer = await view();
  sockets.close();
  await expect(viewer.getByRole('status')).toHaveText('The connection is lost; trying again.');
  await expect(viewer.getByRole('status')).toHaveText('Live');
  sockets.close();
  await session.end();
  await expect(viewer.getByRole('status')).toContainText('Ended');
});

test('a view that lost its connection says so while nothing answers, and connects again', async ({ openPage, view, sockets }) => {
  await openPage();
  const viewer = await view();
  const status = viewer.getByRole('status');
  await expect(status).toHaveText('Live');
  await viewer.route('**/*', (route) => (route.request().method() === 'HEAD' ? undefined : route.continue()), { times: 1 });
  sockets.close();
  await expect(status).toHaveText('The connection is lost; trying again.');
  await expect(status).toHaveText('Live', { timeout: 20_000 });
});

test('a view of a page that has long stood still connects again, too', async ({ page, openPage, view, sockets }) => {
  await openPage();
  await page.clock.install();
  const viewer = await view();
  await page.clock.fastForward('02:00');
  sockets.close();
  await expect(viewer.getByRole('status')).toHaveText('The connection is lost; trying again.');
  await expect(viewer.getByRole('status')).toHaveText('Live');
});

test('a view whose connection is open and dead says so, and connects again', async ({ page, url, link, openPage }) => {
  await using proxy = await FaultProxy.start(url);
  await openPage();
  await page.clock.install();
  await page.goto(link.replace(url, proxy.url));
  const status = page.getByRole('status');
  await expect(status).toHaveText('Live');
  proxy.silenceWebSockets();
  await page.clock.fastForward('00:15');
  await expect(status).toHaveText('The connection is lost; trying again.');
  await expect(status).toHaveText('Live');
});

test.describe('under a clock that the test moves', () => {
  test.use({ clock: async ({}, use) => use(new TestClock()) });

  test('a session stays active while it is watched', async ({ session, clock, connectViewer }) => {
    const time = clock as TestClock;
    session.watchIdle(10);
    const viewer = await connectViewer();
    const said: string[] = [];
    viewer.on('message', (message: Buffer) => said.push(message.toString()));
    for (let second = 0; second < 40; second += 4) {
      const pinged = once(viewer, 'ping');
      time.advance(4000);
      await pinged;
      // The pong is on its way once the socket has answered something that was sent after it.
      await new Promise((resolve) => viewer.ping(undefined, undefined, resolve));
      await once(viewer, 'pong');
    }
    expect(session.alive).toBe(true);
    // By which a viewer that shows a page that stands still knows that it is connected.
    expect(said).toEqual(Array.from({ length: 10 }, () => ''));
    viewer.terminate();
    await expect.poll(() => time.pending().length).toBe(1);
    time.advance(10_000);
    await session.ended;
  });
});

test('a viewer that reads nothing costs no memory, and misses pictures', async ({ produced, connectViewer, openPage }) => {
  const mebibyte = 1024 * 1024;
  await openPage(undefined, noise);
  const viewer = await connectViewer();
  await once(viewer, 'message');
  viewer.pause();
  const before = bufferMemory();
  await expect.poll(() => produced.bytes, { timeout: 50_000 }).toBeGreaterThan(40 * mebibyte);
  expect(bufferMemory() - before).toBeLessThan(20 * mebibyte);
  let received = 0;
  viewer.on('message', (data: Buffer) => (received += data.length));
  viewer.resume();
  await expect.poll(() => received).toBeGreaterThan(mebibyte);
  expect(received).toBeLessThan(produced.bytes - 10 * mebibyte);
});

/** A page of which every picture is large, and another than the one before. */
const noise = `
  <body style="margin: 0"><canvas width=1280 height=720></canvas>
  <script>
    const context = document.querySelector('canvas').getContext('2d');
    const image = context.createImageData(1280, 720);
    for (let at = 0; at < image.data.length; at += 65536) crypto.getRandomValues(image.data.subarray(at, at + 65536));
    let row = 0;
    (function draw() {
      row = (row + 7) % 720;
      context.putImageData(image, 0, row);
      context.putImageData(image, 0, row - 720);
      requestAnimationFrame(draw);
    })();
  </script>`;

/** The bytes of buffers that are still in use. */
function bufferMemory(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}
