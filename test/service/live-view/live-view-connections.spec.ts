import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from '@playwright/test';
import type { LocalSession } from '../../../src/service/sessions/local/local-session.ts';
import { TestClock } from '../../support/service/clock.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { nextPicture, test } from '../../support/views/live-view.ts';

for (const [what, end] of [
  ['the session ends', (session: LocalSession) => session.end()],
  ['its lease is given back', (session: LocalSession) => session.changeHands()],
] as const) {
  test(`the live view closes when ${what}, and its link stops working`, async ({ openPage, view, session, link }) => {
    await openPage();
    const viewer = await view();
    await end(session);
    await expect(viewer.getByRole('status')).toHaveText('Ended: the session has ended, or its lease was given back.');
    expect((await viewer.goto(link))!.status()).toBe(404);
  });
}

test('the live view reconnects after a lost connection @long', async ({ openPage, view, sockets, session }) => {
  await openPage();
  const viewer = await view();
  sockets.close();
  await expect(viewer.getByRole('status')).toHaveText('The connection is lost; trying again.');
  await expect(viewer.getByRole('status')).toHaveText('Live');
  sockets.close();
  await session.end();
  await expect(viewer.getByRole('status')).toContainText('Ended');
});

test('the live view reports a connection without answers as lost, and reconnects @long', async ({
  openPage,
  view,
  sockets,
}) => {
  await openPage();
  const viewer = await view();
  const status = viewer.getByRole('status');
  await expect(status).toHaveText('Live');
  await viewer.route('**/*', (route) => (route.request().method() === 'HEAD' ? undefined : route.continue()), {
    times: 1,
  });
  sockets.close();
  await expect(status).toHaveText('The connection is lost; trying again.');
  await expect(status).toHaveText('Live', { timeout: 20_000 });
});

test('the live view reconnects after its page stayed unchanged for a long time @long', async ({
  page,
  openPage,
  view,
  sockets,
}) => {
  await openPage();
  await page.clock.install();
  const viewer = await view();
  await page.clock.fastForward('02:00');
  sockets.close();
  await expect(viewer.getByRole('status')).toHaveText('The connection is lost; trying again.');
  await expect(viewer.getByRole('status')).toHaveText('Live');
});

test('the live view detects an open connection that is dead, and reconnects @long', async ({
  page,
  url,
  link,
  openPage,
}) => {
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

  test('a watching viewer keeps a session active', async ({ session, clock, connectViewer }) => {
    const time = clock as TestClock;
    session.watchIdle(10);
    const viewer = await connectViewer();
    const said: string[] = [];
    viewer.on('message', (message: Buffer) => {
      if (message.length === 0) said.push('');
    });
    for (let second = 0; second < 40; second += 4) {
      const pinged = once(viewer, 'ping');
      time.advance(4000);
      await pinged;
      // The answer to a later ping comes after the pong.
      await new Promise((resolve) => viewer.ping(undefined, undefined, resolve));
      await once(viewer, 'pong');
    }
    expect(session.alive).toBe(true);
    // These tell a viewer of an unchanged page that the connection is alive.
    expect(said).toEqual(Array.from({ length: 10 }, () => ''));
    viewer.terminate();
    await expect.poll(() => time.pending().length).toBe(1);
    time.advance(10_000);
    await session.ended;
  });
});

test('the service skips pictures and keeps its memory bounded for a viewer that reads nothing @long', async ({
  produced,
  connectViewer,
  openPage,
}) => {
  // A busy machine makes few pictures per second.
  test.setTimeout(150_000);
  const mebibyte = 1024 * 1024;
  await openPage(undefined, noise);
  const viewer = await connectViewer();
  await nextPicture(viewer);
  viewer.pause();
  const before = bufferMemory();
  await expect.poll(() => produced.bytes, { timeout: 120_000 }).toBeGreaterThan(40 * mebibyte);
  expect(bufferMemory() - before).toBeLessThan(20 * mebibyte);
  let received = 0;
  viewer.on('message', (data: Buffer) => (received += data.length));
  viewer.resume();
  await expect.poll(() => received).toBeGreaterThan(mebibyte);
  expect(received).toBeLessThan(produced.bytes - 10 * mebibyte);
});

/** A page with large pictures that all differ. */
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

/** The bytes of all buffers in use. */
function bufferMemory(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}
