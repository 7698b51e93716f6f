import { once } from 'node:events';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { testTag, testTagOf } from '../../../src/contract/lease-tags.ts';
import { expectAccessible } from '../../support/views/axe.ts';
import { lowestContrast } from '../../support/views/contrast.ts';
import { clickAt, eventsOf, expectEnded, middle, nextPicture } from '../../support/views/live-view.ts';
import { pointAt, recorder, socketOf, test } from '../../support/views/live-view.ts';

test('opens for the right token, and shows the page in view', async ({ page, url, session, link, openPage, view }) => {
  for (const query of ['', '?jwt=', '?jwt=wrong', `?jwt=${session.lease.token}`, `?jwt=${session.id}.`]) {
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

  // The view allows only frames of its own origin, such as the hosted login.
  await page.goto(new URL('/browser/live', link).href);
  await page.setContent(`<iframe src="${link}"></iframe>`);
  await expect(page.frameLocator('iframe').getByRole('status')).toHaveText('Live');
  await expect(page.frameLocator('iframe').getByRole('button', { name: 'End session' })).toBeHidden();

  await view();
  await session.end();
  await expectEnded(page, link);
});

test('labels its controls, keeps its policy, and fits into the window @long', async ({ page, openPage, view }) => {
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await openPage();
  await view();
  await expect(page.locator('body')).toMatchAriaSnapshot(`
    - banner:
      - heading "Live view" [level=1]
      - status: Live
      - button "End session"
      - term: Session
      - definition: /[a-z0-9]+/
      - term: Page
      - definition: about:blank
      - paragraph: /The keyboard goes to the session .* Shift\\+Esc gives it back/
    - main:
      - img "Screen of the session"
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
  await expectAccessible(page);
  await page.getByRole('button', { name: 'End session' }).click();
  await expectAccessible(page);
  expect(complaints).toEqual([]);
});

test('shows pool, session, test and page until it is closed @long', async ({ session, openPage, view }) => {
  session.lease.pool = { id: 'id-of-ci', name: 'ci' };
  session.lease.tags = { [testTag]: testTagOf('shop.spec.ts:3 › pays “at once”') };
  const ours = await openPage();
  const viewer = await view();
  const fact = (name: string) => viewer.locator('dl div').filter({ hasText: name }).locator('dd');
  await expect(viewer.getByRole('heading')).toHaveText('shop.spec.ts:3 › pays “at once”');
  await expect(viewer).toHaveTitle('shop.spec.ts:3 › pays “at once” – Live view');
  await expect(fact('Pool')).toHaveText('ci');
  await expect(fact('Session')).toHaveText(session.id);
  await ours.goto('data:text/html,second');
  await expect(fact('Page')).toHaveText('data:text/html,second');
  session.lease.tags = { [testTag]: 'next test' };
  await expect(viewer.getByRole('heading')).toHaveText('next test', { timeout: 10_000 });

  await ours.close();
  await expect(viewer.getByRole('status')).toHaveText('Connected. The session shows no page any more.');
  expect(await middle(viewer)).toBe('000');
  await openPage();
  await expect(viewer.getByRole('status')).toHaveText('Live');
  await expect.poll(() => middle(viewer)).toBe('010');
});

test('the live view ends the session after a confirmation @long', async ({ session, openPage, view }) => {
  await openPage();
  const viewer = await view();
  await viewer.getByRole('button', { name: 'End session' }).click();
  const dialog = viewer.getByRole('dialog', { name: 'End this session?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(dialog).toBeHidden();
  expect(session.alive).toBe(true);
  await viewer.getByRole('button', { name: 'End session' }).click();
  await dialog.getByRole('button', { name: 'End session' }).click();
  await session.ended;
  await expect(viewer.getByRole('status')).toContainText('Ended: the session has ended');
  await expect(viewer.getByRole('button', { name: 'End session' })).toHaveCount(0);
});

test('sends the pointer, several buttons, the wheel and keys until Shift+Escape', async ({ openPage, view }) => {
  const ours = await openPage();
  const viewer = await view();
  const { x, y } = await pointAt(viewer, 0.5, 0.5);
  await viewer.mouse.move(x, y);
  await viewer.mouse.down();
  await viewer.mouse.down({ button: 'right' });
  await viewer.mouse.up();
  await viewer.mouse.up({ button: 'right' });
  const changes = async () =>
    (await eventsOf(ours, 'mousedown', 'mouseup')).map(({ button, buttons }) => [button, buttons]);
  await expect.poll(changes).toEqual([
    [0, 1],
    [2, 3],
    [0, 2],
    [2, 0],
  ]);

  await ours.setContent(recorder);
  await clickAt(viewer, 0.25, 0.5);
  await expect.poll(() => eventsOf(ours, 'click')).toHaveLength(1);
  const [click] = await eventsOf(ours, 'click');
  expect(Math.abs(click!.x - 320)).toBeLessThan(3);
  expect(Math.abs(click!.y - 360)).toBeLessThan(3);

  await clickAt(viewer, 0.75, 0.25, { clickCount: 2 });
  await expect.poll(() => eventsOf(ours, 'dblclick')).toHaveLength(1);
  await clickAt(viewer, 0.5, 0.5, { button: 'right' });
  await expect.poll(async () => (await eventsOf(ours, 'contextmenu')).map(({ button }) => button)).toEqual([2]);

  await viewer.mouse.move(x, y);
  await viewer.mouse.down();
  // The pointer stays captured outside the picture.
  await viewer.mouse.move(2, 2, { steps: 3 });
  await viewer.mouse.up();
  await expect.poll(async () => (await eventsOf(ours, 'mouseup')).at(-1)).toMatchObject({ x: 0, y: 0, buttons: 0 });
  expect((await eventsOf(ours, 'mousemove')).filter(({ buttons }) => buttons === 1).length).toBeGreaterThan(0);

  await viewer.mouse.move(x, y);
  await viewer.mouse.wheel(0, 400);
  await expect.poll(() => ours.evaluate(() => scrollY)).toBe(400);

  await ours.setContent(recorder);
  await view();
  // The first stop is the button that ends the session.
  await viewer.keyboard.press('Tab');
  await viewer.keyboard.press('Tab');
  await expect(viewer.getByRole('textbox')).toBeFocused();
  await viewer.keyboard.down('a');
  await viewer.keyboard.press('Shift+Escape');
  await expect(viewer.getByRole('textbox')).not.toBeFocused();
  await expect.poll(async () => (await eventsOf(ours, 'keyup')).map(({ key }) => key)).toContain('a');
  const before = await eventsOf(ours, 'keydown');
  expect(before.map(({ key }) => key)).not.toContain('Escape');
  await viewer.keyboard.press('b');
  // The session gets input in order.
  await clickAt(viewer, 0.5, 0.5);
  await expect.poll(() => eventsOf(ours, 'click')).toHaveLength(1);
  expect(await eventsOf(ours, 'keydown')).toEqual(before);

  const phone = await openPage({ viewport: { width: 390, height: 844 }, isMobile: true, deviceScaleFactor: 3 });
  const isHigh = () => viewer.locator('canvas').evaluate(({ width, height }: HTMLCanvasElement) => height > width);
  await expect.poll(isHigh).toBe(true);
  await clickAt(viewer, 0.5, 0.5);
  await expect.poll(() => eventsOf(phone, 'click')).toHaveLength(1);
  const [hit] = await eventsOf(phone, 'click');
  expect(Math.abs(hit!.x / (await phone.evaluate(() => innerWidth)) - 0.5)).toBeLessThan(0.01);
});

test('sends back and forward buttons to the session only @long', async ({ page, openPage, view }) => {
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

test('types, pastes and composes text, and no shortcuts with Alt @long', async ({ openPage, view }) => {
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

  await clickAt(viewer, 120 / 1280, 110 / 720);
  await field.fill('');
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
  await expect(field).toHaveValue('@€.');
});

const mouse = { type: 'mouse', x: 0.5, y: 0.5, modifiers: 0 };
const move = { ...mouse, action: 'move', button: 'none', buttons: 0, clickCount: 0 };
const press = { ...mouse, action: 'press', button: 'left', buttons: 1, clickCount: 1 };

test('releases buttons when the viewer leaves, and closes at invalid input', async ({ openPage, connectViewer }) => {
  const ours = await openPage();
  const viewer = await connectViewer();
  await nextPicture(viewer);
  viewer.send(JSON.stringify(press));
  await expect.poll(() => eventsOf(ours, 'mousedown')).toHaveLength(1);
  viewer.terminate();
  await expect.poll(() => eventsOf(ours, 'mouseup')).toHaveLength(1);

  const wrong = [{ ...move, x: 2 }, { ...move, y: null }, { ...move, button: 'sixth' }, { type: 'text' }];
  const texts = ['', 'null', '[]', '{}', ...wrong.map((message) => JSON.stringify(message))];
  for (const input of [...texts, Buffer.from([1])]) {
    const socket = await connectViewer();
    const closed = once(socket, 'close');
    socket.send(input);
    const [code, reason] = (await closed) as [number, Buffer];
    expect([code, String(reason)], String(input)).toEqual([1008, 'the input was not understood']);
  }
});

test('readOnly accepts no input from page or socket @long', async ({ session, openPage, view, connectViewer }) => {
  const ours = await openPage();
  const viewer = await view('&readOnly=true');
  await expect(viewer.getByText('Read only')).toBeVisible();
  await expect(viewer.getByRole('textbox')).toHaveCount(0);
  await expect(viewer.getByRole('button')).toHaveCount(0);
  await clickAt(viewer, 0.5, 0.5);
  await viewer.keyboard.press('a');

  for (const message of [{ type: 'text', text: 'a' }, { type: 'end' }]) {
    const socket = await connectViewer('&readOnly=true');
    const closed = once(socket, 'close');
    socket.send(JSON.stringify(message));
    const [code, reason] = (await closed) as [number, Buffer];
    expect([code, String(reason)]).toEqual([1008, 'this live view is read only']);
  }
  expect(session.alive).toBe(true);
  expect(await eventsOf(ours, 'mousedown', 'keydown')).toEqual([]);
  await expect(ours.locator('input').first()).toHaveValue('');
});
