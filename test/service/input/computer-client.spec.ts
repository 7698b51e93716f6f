import { chromium, expect, type Page } from '@playwright/test';
import Kernel, { BadRequestError, ConflictError, NotFoundError } from '@onkernel/sdk';
import { forget, recorder, seen, told, way } from '../../support/service/input-events.ts';
import { startTestService, test as base, type TestService } from '../../support/service/service.ts';
import { perWorker } from '../../support/worker.ts';

type Fixtures = {
  /** The id of a session with a screen of 800x600. */
  id: string;
  /** A page of it that writes down its input events, with a text field in the upper half. */
  ours: Page;
};

const size = { width: 800, height: 600 };

const test = base.extend<Fixtures & { shared: { service: TestService; id: string } }>({
  shared: perWorker(async (use) => {
    await using service = await startTestService();
    const { body } = await service.call('POST', '/browsers', { viewport: size, timeout_seconds: 3600 });
    await use({ service, id: body.session_id });
  }),
  service: async ({ shared }, use) => use(shared.service),
  id: async ({ shared }, use) => use(shared.id),
  ours: async ({ kernel, id }, use) => {
    const ours = await openPage(kernel, id);
    await use(ours);
    await ours.context().browser()!.close();
  },
});

async function openPage(kernel: Kernel, id: string): Promise<Page> {
  const browser = await chromium.connectOverCDP((await kernel.browsers.retrieve(id)).cdp_ws_url);
  const ours = await browser.newPage({ viewport: size });
  await ours.setContent(
    `<body style="margin: 0; height: 3000px">${recorder}<textarea style="width: 790px; height: 280px"></textarea>`,
  );
  await ours.locator('textarea').focus();
  return ours;
}

test("the hosted service's SDK moves, clicks, drags and scrolls @long", async ({ kernel, id, ours }) => {
  const { computer } = kernel.browsers;
  await computer.moveMouse(id, { x: 300, y: 400, smooth: true, duration_ms: 100, hold_keys: ['Shift'] });
  expect(await computer.getMousePosition(id)).toEqual({ x: 300, y: 400 });
  expect((await seen(ours, 'mousemove')).at(-1)).toMatchObject({ x: 300, y: 400, modifiers: 'shift' });
  await computer.clickMouse(id, { x: 310, y: 410 });
  await computer.clickMouse(id, { x: 310, y: 410, button: 'right', num_clicks: 2 });
  expect(told(await seen(ours, 'mousedown'), 'button', 'detail')).toEqual(['0 1', '2 1', '2 2']);
  await forget(ours);
  const path = way([10, 400], [60, 450]);
  await computer.dragMouse(id, { path, steps_per_segment: 2, step_delay_ms: 1, smooth: false, delay: 1 });
  const pointed = await seen(ours, 'pointerdown', 'pointermove', 'pointerup');
  expect(told(pointed, 'x', 'buttons')).toEqual(['10 0', '10 1', '35 1', '60 1', '60 0']);
  await computer.scroll(id, { x: 400, y: 500, delta_y: 2 });
  await expect.poll(() => ours.evaluate('scrollY')).toBe(240);
  expect((await seen(ours, 'wheel')).every(({ isTrusted }) => isTrusted)).toBe(true);
});

test("the hosted service's SDK types, presses keys and uses the clipboard @long", async ({ kernel, id, ours }) => {
  const { computer } = kernel.browsers;
  const field = ours.locator('textarea');
  await computer.typeText(id, { text: 'Grüße\nyou', delay: 1 });
  await expect(field).toHaveValue('Grüße\nyou');
  await computer.pressKey(id, { keys: ['Control+a', 'Control+c'] });
  expect(await computer.readClipboard(id)).toEqual({ text: 'Grüße\nyou' });
  await computer.writeClipboard(id, { text: 'copied' });
  await computer.pressKey(id, { keys: ['v'], hold_keys: ['ctrl'] });
  await expect(field).toHaveValue('copied');
  await computer.pressKey(id, { keys: ['Shift', 'a'], duration: 50 });
  await expect(field).toHaveValue('copiedA');
  expect((await seen(ours, 'paste')).map(({ isTrusted }) => isTrusted)).toEqual([true]);
  await computer.writeClipboard(id, { text: '' });
  expect(await computer.readClipboard(id)).toEqual({ text: '' });
  expect(ours.context().pages()).toHaveLength(1);
});

test("the hosted service's SDK takes screenshots, and sends a batch of actions", async ({ kernel, id, ours }) => {
  const { computer } = kernel.browsers;
  await expect(ours.locator('textarea')).toBeVisible();
  for (const [body, size] of [
    [undefined, [800, 600]],
    [{ region: { x: 10, y: 20, width: 30, height: 40 } }, [30, 40]],
  ] as const) {
    const response = await computer.captureScreenshot(id, body);
    expect(response.headers.get('content-type')).toBe('image/png');
    const png = Buffer.from(await response.arrayBuffer());
    expect(png.toString('latin1', 1, 4)).toBe('PNG');
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual(size);
  }
  expect(await computer.setCursorVisibility(id, { hidden: true })).toEqual({ ok: true });
  expect(await computer.setCursorVisibility(id, { hidden: false })).toEqual({ ok: true });

  await kernel.browsers.computer.batch(id, {
    actions: [
      { type: 'click_mouse', click_mouse: { x: 100, y: 100 } },
      { type: 'type_text', type_text: { text: 'batched' } },
      { type: 'press_key', press_key: { keys: ['Return'] } },
      { type: 'sleep', sleep: { duration_ms: 10 } },
      { type: 'set_cursor', set_cursor: { hidden: true } },
      { type: 'scroll', scroll: { x: 400, y: 500, delta_y: 1 } },
      { type: 'drag_mouse', drag_mouse: { path: way([10, 500], [50, 500]) } },
      { type: 'move_mouse', move_mouse: { x: 7, y: 8 } },
    ],
  });
  await expect(ours.locator('textarea')).toHaveValue('batched\n');
  expect(await kernel.browsers.computer.getMousePosition(id)).toEqual({ x: 7, y: 8 });
});

test('refuses actions without a page, and a whole batch of actions if one is wrong', async ({ service, kernel }) => {
  const { computer } = kernel.browsers;
  const { session_id: id } = await kernel.browsers.create({ viewport: size });
  await expect(computer.clickMouse(id, { x: 1, y: 1 })).rejects.toThrow(ConflictError);
  await expect(computer.captureScreenshot(id)).rejects.toThrow(ConflictError);
  await expect(computer.clickMouse(id, { x: 800, y: 1 })).rejects.toThrow(BadRequestError);
  await computer.batch(id, { actions: [{ type: 'sleep', sleep: { duration_ms: 1 } }] });
  expect(await computer.getMousePosition(id)).toEqual({ x: 0, y: 0 });
  expect(await computer.readClipboard(id)).toEqual({ text: '' });

  const ours = await openPage(kernel, id);
  const scrolled = { type: 'scroll', scroll: { x: 1, y: 1, delta_y: 1 } } as const;
  const beyond = { type: 'scroll', scroll: { x: 5000, y: 1, delta_y: 1 } };
  const pressed = { type: 'press_key', press_key: { keys: ['Tap'] } };
  const sleep = { type: 'sleep', sleep: { duration_ms: 0 } } as const;
  const mistakes: [path: string, body: unknown, message: RegExp][] = [
    ['click_mouse', { x: -1, y: 0 }, /x: coordinates must be non-negative/],
    ['click_mouse', { x: 0.5, y: 0 }, /x: /],
    ['click_mouse', { x: 800, y: 0 }, /coordinates exceed screen bounds \(max: 799x599\): 800,0/],
    ['click_mouse', { x: 1, y: 1, button: 'fourth' }, /button: /],
    ['click_mouse', { x: 1, y: 1, hold_keys: ['Shft'] }, /there is no key "Shft"; the nearest one is "Shift"/],
    ['click_mouse', { x: 1 }, /y: /],
    ['move_mouse', { x: 0, y: 600 }, /coordinates exceed screen bounds/],
    ['move_mouse', { x: 0, y: 0, duration_ms: 49 }, /duration_ms: /],
    ['drag_mouse', { path: [[1, 1]] }, /path: /],
    ['drag_mouse', { path: [[1, 1], [2]] }, /path\.1/],
    ['drag_mouse', { path: way([1, 1], [2, 2], [800, 2]) }, /coordinates exceed screen bounds/],
    ['scroll', { x: 1, y: 1 }, /must not both be 0/],
    ['scroll', { x: 1, y: 1, delta_y: 0.5 }, /delta_y: /],
    ['type', { text: 'x', delay: -1 }, /delay: /],
    ['type', {}, /text: /],
    ['press_key', { keys: [] }, /keys: /],
    ['press_key', { keys: ['a', 'Control+Retrun'] }, /there is no key "Retrun"; the nearest one is "Return"/],
    ['cursor', {}, /hidden: /],
    ['screenshot', { region: { x: 0, y: 0, width: 0, height: 1 } }, /invalid region dimensions/],
    ['screenshot', { region: { x: 0, y: 0, width: 1, height: -1 } }, /invalid region dimensions/],
    ['screenshot', { region: { x: 799, y: 0, width: 2, height: 1 } }, /region exceeds screen bounds/],
    ['screenshot', { region: { x: -1, y: 0, width: 2, height: 1 } }, /region exceeds screen bounds/],
    ['clipboard/write', { text: 1 }, /text: /],
    ['batch', { actions: [] }, /actions: /],
    ['batch', { actions: Array.from({ length: 101 }, () => scrolled) }, /actions: .*100/],
    ['batch', { actions: [scrolled, { type: 'scroll', sleep: { duration_ms: 1 } }] }, /actions\.1\.scroll: /],
    ['batch', { actions: [scrolled, { ...scrolled, ...sleep }] }, /actions\.1/],
    ['batch', { actions: [scrolled, { type: 'screenshot' }] }, /actions\.1\.type: .*'click_mouse'/],
    ['batch', { actions: [scrolled, beyond] }, /^actions\[1\] \(scroll\): coordinates exceed/],
    ['batch', { actions: [scrolled, pressed] }, /^actions\[1\] \(press_key\): there is no key/],
    ['batch', { actions: [scrolled, { type: 'sleep', sleep: { duration_ms: 30_001 } }] }, /actions\.1\.sleep/],
  ];
  for (const [path, body, message] of mistakes) {
    const answer = await service.call('POST', `/browsers/${id}/computer/${path}`, body);
    expect(answer, JSON.stringify(body)).toMatchObject({
      status: 400,
      body: { code: 'bad_request', message: expect.stringMatching(message) },
    });
  }
  expect((await service.call('POST', `/browsers/${id}/computer/type`)).status).toBe(400);
  await expect(computer.pressKey(id, { keys: ['Tap'] })).rejects.toThrow(BadRequestError);
  await expect(computer.moveMouse('nowhere', { x: 1, y: 1 })).rejects.toThrow(NotFoundError);
  expect(await seen(ours, 'mousemove', 'mousedown', 'keydown', 'wheel')).toEqual([]);
  await ours.context().browser()!.close();
});
