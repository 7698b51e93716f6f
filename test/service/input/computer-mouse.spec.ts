import { expect } from '@playwright/test';
import { forget, seen, test, told, way } from '../../support/service/input-events.ts';
import { computerOf } from '../../../src/service/input/computer.ts';

const boxes = `
  <style>body > div { position: absolute; width: 100px; height: 100px; user-select: none }</style>
  <div id=red draggable=true style="left: 50px; top: 50px; background: red"></div>
  <div id=blue style="left: 300px; top: 50px; background: blue"></div>
  <div id=green style="left: 300px; top: 300px; background: green"></div>
  <script>
    red.ondragstart = (event) => event.dataTransfer.setData('text/plain', 'carried');
    red.ondragend = (event) => { red.textContent = event.dataTransfer.dropEffect };
    blue.ondragover = (event) => event.preventDefault();
    blue.ondrop = (event) => { event.preventDefault(); blue.textContent = event.dataTransfer.getData('text/plain') };
  </script>`;

test('the mouse jumps to a point, also while keys are held', async ({ session, open, act: { move } }) => {
  const ours = await open(boxes);
  await move({ x: 340, y: 90, smooth: false });
  expect(await seen(ours, 'mousemove')).toEqual([
    expect.objectContaining({ target: 'blue', x: 340, y: 90, buttons: 0, isTrusted: true, modifiers: '' }),
  ]);
  expect(computerOf(session).mousePosition()).toEqual({ x: 340, y: 90 });

  const field = await open('<textarea></textarea>');
  await move({ x: 10, y: 10, smooth: false, hold_keys: ['Ctrl', 'a'] });
  const events = await seen(field, 'keydown', 'mousemove', 'keyup');
  expect(told(events, 'type', 'key', 'modifiers')).toEqual([
    'keydown Control ctrl',
    'keydown a ctrl',
    'mousemove undefined ctrl',
    'keyup a ctrl',
    'keyup Control ',
  ]);
  await expect(field.locator('textarea')).toHaveValue('');
});

test('the mouse moves on a straight line in the requested time @long', async ({ open, act: { move } }) => {
  const ours = await open(boxes);
  await move({ x: 0, y: 0, smooth: false });
  await move({ x: 500, y: 400 });
  const points = await seen(ours, 'mousemove');
  expect(points.length).toBeGreaterThan(2);
  expect(points.at(-1)).toMatchObject({ x: 500, y: 400 });
  for (const { x, y } of points) expect(Math.abs(y - x * 0.8)).toBeLessThanOrEqual(1);
  expect(points.map(({ x }) => x)).toEqual(points.map(({ x }) => x).toSorted((a, b) => a - b));

  const startedAt = performance.now();
  await move({ x: 0, y: 0, duration_ms: 600 });
  expect(performance.now() - startedAt).toBeGreaterThan(550);
  expect((await seen(ours, 'mousemove')).length).toBeGreaterThan(points.length + 10);
});

test('clicks with every mouse button, at once or in separate actions', async ({ open, act: { click, move } }) => {
  const ours = await open(boxes);
  await click({ x: 330, y: 330 });
  const events = await seen(ours, 'pointermove', 'pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click');
  expect(told(events, 'type', 'target', 'x', 'y', 'button', 'buttons', 'detail')).toEqual([
    'pointermove green 330 330 -1 0 0',
    'pointerdown green 330 330 0 1 0',
    'mousedown green 330 330 0 1 1',
    'pointerup green 330 330 0 0 0',
    'mouseup green 330 330 0 0 1',
    'click green 330 330 0 0 1',
  ]);
  expect(events.filter(({ pressure }) => pressure > 0)).toMatchObject([{ type: 'pointerdown', pressure: 0.5 }]);

  await forget(ours);
  await click({ x: 330, y: 330, button: 'right', hold_keys: ['shift', 'alt'] });
  await click({ x: 330, y: 330, button: 'middle' });
  const others = await seen(ours, 'mousedown', 'contextmenu', 'auxclick');
  expect(told(others, 'type', 'button', 'buttons', 'modifiers')).toEqual([
    'mousedown 2 2 shift+alt',
    'contextmenu 2 2 shift+alt',
    'auxclick 2 0 shift+alt',
    'mousedown 1 4 ',
    'auxclick 1 0 ',
  ]);

  await move({ x: 10, y: 10, smooth: false });
  await forget(ours);
  await click({ x: 330, y: 330, click_type: 'down', num_clicks: 3 });
  await move({ x: 340, y: 340, smooth: false });
  await click({ x: 350, y: 350, click_type: 'up' });
  const separate = await seen(ours, 'mousedown', 'mousemove', 'mouseup', 'click');
  const expected = ['mousemove 330 0', 'mousedown 330 1', 'mousemove 340 1', 'mousemove 350 1'];
  expect(told(separate, 'type', 'x', 'buttons')).toEqual([...expected, 'mouseup 350 0', 'click 350 0']);
});

test('repeated clicks count up', async ({ open, act: { click } }) => {
  const ours = await open('<p style="margin: 0">double click selects</p>');
  await click({ x: 10, y: 8, num_clicks: 2 });
  expect(told(await seen(ours, 'click', 'dblclick'), 'type', 'detail')).toEqual(['click 1', 'click 2', 'dblclick 2']);
  expect(await ours.evaluate('String(getSelection())')).toBe('double');
  await forget(ours);
  await click({ x: 300, y: 300, num_clicks: 0 });
  expect(await seen(ours, 'click', 'dblclick')).toHaveLength(1);
});

test("the mouse's back and forward buttons go through the page's history", async ({ site, open, act: { click } }) => {
  const ours = await open(boxes);
  const first = ours.url();
  const second = await site((_request, response) => response.end());
  await ours.goto(second);
  await click({ x: 330, y: 330, button: 'back' });
  await ours.waitForURL(first);
  await click({ x: 330, y: 330, button: 'forward' });
  await ours.waitForURL(second);
});

test('clicks reach elements in frames of other sites @long', async ({ open, act: { click } }) => {
  const ours = await open('<button id=inside style="position: absolute; left: 20px; top: 30px; padding: 25px">');
  const otherSite = ours.url().replace('localhost', '127.0.0.1');
  await ours.setContent(
    `<body style="margin: 0"><iframe src="${otherSite}" style="margin: 100px; border: 0"></iframe>`,
  );
  const frame = ours.frameLocator('iframe').locator('#inside');
  await frame.waitFor();
  await click({ x: 130, y: 140 });
  const clicks = 'seenEvents.filter(({ type }) => type === "click").map(({ target, x, y }) => [target, x, y])';
  expect(await frame.evaluate(clicks)).toEqual([['inside', 30, 40]]);
});

test('a click may close its own page', async ({ open, act: { click, type } }) => {
  const first = await open('<input>');
  const opened = first.waitForEvent('popup');
  await first.evaluate(() => void window.open('about:blank'));
  const popup = await opened;
  await popup.setContent('<body onclick="window.close()" style="height: 500px">');
  const closed = popup.waitForEvent('close');
  await click({ x: 100, y: 100 });
  await closed;
  await type({ text: 'here' });
  await expect(first.locator('input')).toHaveValue('here');
});

test('dragging moves a draggable element and drops it', async ({ session, open, act: { drag, move } }) => {
  const ours = await open(boxes);
  await drag({ path: way([100, 100], [200, 120], [350, 100]) });
  await expect(ours.locator('#blue')).toHaveText('carried');
  await expect(ours.locator('#red')).toHaveText('copy');
  const events = await seen(ours, 'dragstart', 'dragenter', 'dragover', 'drop', 'dragend');
  expect(events[0]).toMatchObject({ type: 'dragstart', target: 'red', x: 100, y: 100 });
  const entered = events.filter(({ type }) => type === 'dragenter').map(({ target }) => target);
  // Chromium reports the drag some moves after its start. On a busy machine the mouse may have left the dragged
  // element, or reached the other one, by then.
  expect([['red', 'html', 'blue'], ['html', 'blue'], ['blue']]).toContainEqual(entered);
  expect(events.slice(-2)).toMatchObject([
    { type: 'drop', target: 'blue', x: 350, y: 100 },
    { type: 'dragend', target: 'red' },
  ]);
  expect(computerOf(session).mousePosition()).toEqual({ x: 350, y: 100 });
  await forget(ours);
  await move({ x: 10, y: 10, smooth: false });
  expect((await seen(ours, 'mousemove')).map(({ buttons }) => buttons)).toEqual([0]);
});

test('a drag in one jump drops the element, but not over one that accepts none', async ({ open, act: { drag } }) => {
  const ours = await open(boxes);
  const jump = { smooth: false, steps_per_segment: 1, step_delay_ms: 0 };
  await drag({ path: way([100, 100], [200, 120], [350, 100]), ...jump });
  await expect(ours.locator('#blue')).toHaveText('carried');
  await ours.reload();
  await drag({ path: way([100, 100], [350, 350]) });
  await expect(ours.locator('#red')).toHaveText('none');
  expect(await seen(ours, 'drop')).toEqual([]);
});

test('dragging works by separate press, move and release actions', async ({ open, act: { click, move, press } }) => {
  const ours = await open(boxes);
  await click({ x: 100, y: 100, click_type: 'down' });
  await move({ x: 350, y: 100 });
  await click({ x: 351, y: 101, click_type: 'up' });
  await expect(ours.locator('#blue')).toHaveText('carried');

  await ours.reload();
  await click({ x: 100, y: 100, click_type: 'down' });
  await move({ x: 350, y: 100 });
  // Escape cancels only a drag that Chromium has reported.
  await expect
    .poll(async () => {
      await move({ x: 351, y: 100, smooth: false });
      await move({ x: 350, y: 100, smooth: false });
      return await seen(ours, 'dragover');
    })
    .not.toEqual([]);
  await press({ keys: ['Escape'] });
  await click({ x: 350, y: 100, click_type: 'up' });
  await expect(ours.locator('#red')).toHaveText('none');
  await expect(ours.locator('#blue')).toHaveText('');
});

test('a drag moves the pointer in the requested time, and releases it if aborted', async ({ open, act }) => {
  const { drag, move } = act;
  const ours = await open(boxes);
  const steps = { smooth: false, steps_per_segment: 4, step_delay_ms: 5, delay: 100 };
  await drag({ path: way([320, 320], [400, 340], [350, 380]), ...steps });
  const events = await seen(ours, 'pointerdown', 'pointermove', 'pointerup', 'pointercancel');
  const moves = ['340,325', '360,330', '380,335', '400,340', '388,350', '375,360', '363,370', '350,380'];
  expect(events.map(({ type, x, y }) => `${type} ${x},${y}`)).toEqual([
    'pointermove 320,320',
    'pointerdown 320,320',
    ...moves.map((point) => `pointermove ${point}`),
    'pointerup 350,380',
  ]);
  expect(new Set(events.slice(1, -1).map(({ buttons }) => buttons))).toEqual(new Set([1]));

  await forget(ours);
  const startedAt = performance.now();
  const how = { button: 'middle', duration_ms: 500, delay: 200, hold_keys: ['shift'] };
  await drag({ path: way([320, 320], [340, 340], [320, 320]), ...how });
  expect(performance.now() - startedAt).toBeGreaterThan(650);
  const dragging = (await seen(ours, 'mousemove')).slice(1);
  expect(dragging.length).toBeGreaterThan(10);
  expect(dragging.every(({ buttons, modifiers }) => buttons === 4 && modifiers === 'shift')).toBe(true);

  await forget(ours);
  const abort = new AbortController();
  const dragged = drag({ path: way([320, 320], [380, 380]), duration_ms: 10_000 }, abort.signal);
  const refused = expect(dragged).rejects.toThrow('hung up');
  await expect.poll(async () => (await seen(ours, 'mousemove')).length).toBeGreaterThan(2);
  abort.abort(new Error('hung up'));
  await refused;
  expect(await seen(ours, 'mouseup')).toHaveLength(1);
  await forget(ours);
  await move({ x: 10, y: 10, smooth: false });
  expect(await seen(ours, 'mousemove')).toMatchObject([{ buttons: 0 }]);
});

test('the mouse wheel scrolls step by step, down, up, right and left', async ({ open, act: { scroll } }) => {
  const ours = await open('<div style="width: 5000px; height: 5000px">');
  await scroll({ x: 100, y: 200, delta_x: 2, delta_y: 3 });
  await expect.poll(() => seen(ours, 'wheel')).toHaveLength(5);
  const wheel = await seen(ours, 'wheel');
  const turns = wheel.map(({ deltaX, deltaY }) => `${deltaX},${deltaY}`);
  expect(turns).toEqual(['0,120', '0,120', '0,120', '120,0', '120,0']);
  expect(wheel[0]).toMatchObject({ x: 100, y: 200, isTrusted: true });
  await expect.poll(() => ours.evaluate('[scrollX, scrollY]')).toEqual([240, 360]);
  await scroll({ x: 100, y: 200, delta_x: -1, delta_y: -2, hold_keys: ['shift'] });
  const held = async () => told((await seen(ours, 'wheel')).slice(5), 'modifiers');
  await expect.poll(held).toEqual(['shift', 'shift', 'shift']);
});
