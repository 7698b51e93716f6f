import { expect, type Page } from '@playwright/test';
import { settings } from '../../support/service/browser-sessions.ts';
import { actionsOf, seen, test, way, type Point } from '../../support/service/input-events.ts';
import { computerOf } from '../../../src/service/input/computer.ts';

/** Red but for a green field of 50x40 pixels at 100,60 that has a blue pixel in its corner. */
const painted = `
  <style>
    html { background: red }
    div { position: fixed; left: 100px; top: 60px; width: 50px; height: 40px; background: lime }
    div::after { content: ''; position: absolute; right: 0; bottom: 0; width: 1px; height: 1px; background: blue }
  </style>
  <div id=field></div>
  <script>
    window.changes = [];
    addEventListener('resize', () => changes.push('resize'));
    matchMedia('(resolution: ' + devicePixelRatio + 'dppx)').addEventListener('change', () => changes.push('resolution'));
  </script>`;

/** Size and pixels of a PNG image, as a browser shows it. */
async function look(viewer: Page, png: Buffer, ...points: Point[]): Promise<{ size: number[]; pixels: string[] }> {
  return await viewer.evaluate(
    async ({ source, points }) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d')!;
      context.drawImage(image, 0, 0);
      const pixels = points.map(([x, y]) => context.getImageData(x, y, 1, 1).data.slice(0, 3).join());
      return { size: [image.width, image.height], pixels };
    },
    { source: `data:image/png;base64,${png.toString('base64')}`, points },
  );
}

const [red, green, blue] = ['255,0,0', '0,255,0', '0,0,255'];

test('a screenshot shows each pixel of the page in view, or of a region @long', async ({ session, open, page }) => {
  await open(painted);
  const whole = await computerOf(session).screenshot();
  expect(await look(page, whole, [0, 0], [100, 60], [149, 99], [150, 99])).toEqual({
    size: [1280, 720],
    pixels: [red, green, blue, red],
  });
  const region = await computerOf(session).screenshot({ x: 99, y: 59, width: 51, height: 41 });
  expect(await look(page, region, [0, 0], [1, 1], [50, 40])).toEqual({ size: [51, 41], pixels: [red, green, blue] });
  const pixel = await computerOf(session).screenshot({ x: 1279, y: 719, width: 1, height: 1 });
  expect(await look(page, pixel, [0, 0])).toEqual({ size: [1, 1], pixels: [red] });
});

test('a screenshot waits until a page that has just opened is drawn @long', async ({ sessions }) => {
  const session = await sessions.create(settings);
  for (let count = 1; count <= 60; count++) {
    await session.openPage('about:blank');
    expect((await computerOf(session).screenshot()).byteLength).toBeGreaterThan(100);
  }
});

test('a screenshot of a region equals that region of the whole one @long', async ({ session, open, page }) => {
  const colours = Array.from({ length: 40 }, (_, index) => `hsl(${index * 9} 80% ${30 + index}%)`);
  const text = colours.map((colour) => `<span style="color: ${colour}; font-size: 20px">Quick brown foxes </span>`);
  const gradient = 'background: radial-gradient(yellow, teal, purple)';
  await open(`<p style="margin: 0; height: 100vh; ${gradient}">${text.join('')}</p>`);
  const whole = await computerOf(session).screenshot();
  const region = await computerOf(session).screenshot({ x: 303, y: 101, width: 211, height: 97 });
  const points = Array.from({ length: 211 * 97 }, (_, index): Point => [index % 211, Math.floor(index / 211)]);
  const ofRegion = await look(page, region, ...points);
  const ofWhole = await look(page, whole, ...points.map(([x, y]): Point => [x + 303, y + 101]));
  expect(new Set(ofRegion.pixels).size).toBeGreaterThan(1000);
  expect(ofRegion.pixels).toEqual(ofWhole.pixels);
});

test('a screenshot leaves the page unchanged, with any emulated device @long', async ({ session, open, page }) => {
  for (const [options, expected] of [
    [{ viewport: { width: 400, height: 300 }, deviceScaleFactor: 2 }, [400, 300]],
    [{ viewport: { width: 390, height: 600 }, deviceScaleFactor: 3, isMobile: true, hasTouch: true }, [390, 600]],
  ] as const) {
    const ours = await open(painted, options);
    const whole = await computerOf(session).screenshot();
    expect((await look(page, whole)).size).toEqual(expected);
    const region = await computerOf(session).screenshot({ x: 10, y: 10, width: 20, height: 30 });
    expect((await look(page, region)).size).toEqual([20, 30]);
    expect(await ours.evaluate('changes')).toEqual([]);
    expect(await ours.evaluate('devicePixelRatio')).toBe(options.deviceScaleFactor);
  }
});

test("the screen is as large as the session's viewport", async ({ sessions, connect }) => {
  const session = await sessions.create(settings);
  const { move, click, drag, scroll } = actionsOf(session);
  await expect(move({ x: 1280, y: 0 })).rejects.toMatchObject(outside('1280,0'));
  await (await connect(session)).newPage({ viewport: { width: 300, height: 200 } });
  await expect(click({ x: 0, y: 720 })).rejects.toMatchObject(outside('0,720'));
  await expect(scroll({ x: 5000, y: 5000, delta_y: 1 })).rejects.toMatchObject(outside('5000,5000'));
  const dragged = drag({ path: way([0, 0], [10, 10], [1280, 10]) });
  await expect(dragged).rejects.toMatchObject(outside('1280,10'));
  expect(computerOf(session).mousePosition()).toEqual({ x: 0, y: 0 });
  await move({ x: 1279, y: 719 });
});

test('the screen grows to the size of a larger page in view', async ({ session, open, act: { click } }) => {
  await open('');
  for (const region of [
    { x: 1280, y: 0, width: 1, height: 1 },
    { x: 0, y: 700, width: 10, height: 21 },
  ]) {
    const message = 'region exceeds screen bounds: the page in view shows 1280x720 pixels';
    await expect(computerOf(session).screenshot(region)).rejects.toMatchObject({ code: 'bad_request', message });
  }
  const ours = await open('', { viewport: { width: 1400, height: 1200 } });
  await click({ x: 1399, y: 1199 });
  expect(await seen(ours, 'click')).toMatchObject([{ x: 1399, y: 1199 }]);
  const refused = { code: 'bad_request', message: expect.stringContaining('max: 1399x1199') };
  await expect(click({ x: 1400, y: 0 })).rejects.toMatchObject(refused);
});

test('the screen shows phone pages scaled, and clicks hit the elements shown', async ({ session, open, page, act }) => {
  const ours = await open(painted, { viewport: { width: 390, height: 600 }, isMobile: true });
  const scale: number = await ours.evaluate('visualViewport.scale');
  expect(scale).toBeLessThan(0.5);
  const [x, y] = [Math.round(125 * scale), Math.round(80 * scale)];
  expect((await look(page, await computerOf(session).screenshot(), [x, y])).pixels).toEqual([green]);
  await act.click({ x, y });
  expect(await seen(ours, 'click')).toMatchObject([{ target: 'field' }]);
  expect(computerOf(session).mousePosition()).toEqual({ x, y });
});

function outside(point: string) {
  return { code: 'bad_request', message: `coordinates exceed screen bounds (max: 1279x719): ${point}` };
}
