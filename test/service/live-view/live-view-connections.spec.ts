import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from '@playwright/test';
import { TestClock } from '../../support/service/clock.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { expectEnded, nextPicture, test } from '../../support/views/live-view.ts';

test('closes when its lease is given back, and its link stops working', async ({ openPage, view, session, link }) => {
  await openPage();
  const viewer = await view();
  session.changeHands();
  await expectEnded(viewer, link);
});

test('detects an open connection that is dead, and reconnects @long', async ({ page, url, link, openPage }) => {
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

test('reconnects after a lost connection or no answers @long', async ({ page, openPage, view, sockets, session }) => {
  await openPage();
  await page.clock.install();
  const status = (await view()).getByRole('status');
  const expectReconnection = async () => {
    sockets.close();
    await expect(status).toHaveText('The connection is lost; trying again.');
    await expect(status).toHaveText('Live', { timeout: 20_000 });
  };
  await expectReconnection();
  await page.route('**/*', (route) => (route.request().method() === 'HEAD' ? undefined : route.continue()), {
    times: 1,
  });
  await expectReconnection();
  await page.clock.fastForward('02:00');
  await expectReconnection();
  sockets.close();
  await session.end();
  await expect(status).toContainText('Ended');
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

test('skips pictures for a viewer that reads nothing @long', async ({ produced, connectViewer, openPage }) => {
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
