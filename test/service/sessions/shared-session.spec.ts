import { once } from 'node:events';
import { chromium, expect, type Browser } from '@playwright/test';
import { WebSocket } from 'ws';
import { test } from '../../support/views/replays.ts';

test('two Playwright clients, a live view and a replay use one session at once @long', async ({ record, service }) => {
  const recording = await record({ framerate: 5 });
  const { body: session } = await service.call('GET', recording.path);
  const { host, search } = new URL(session.browser_live_view_url);
  const viewer = new WebSocket(`ws://${host}/browser/live/socket${search}`);
  let pictures = 0;
  viewer.on('message', (_data, isBinary) => (pictures += Number(isBinary)));
  await once(viewer, 'open');
  await using other = await chromium.connectOverCDP(session.cdp_ws_url);
  await Promise.all([work(recording.browser, 'first'), work(other, 'second')]);
  await expect.poll(() => pictures).toBeGreaterThan(0);
  viewer.terminate();
  expect((await recording.stop()).status).toBe(200);
  await using video = await recording.video();
  expect(video.duration).toBeGreaterThan(0);
});

/** Clicks and downloads in a page of its own. */
async function work(browser: Browser, name: string): Promise<void> {
  const page = await (await browser.newContext()).newPage();
  await page.setContent(`<button onclick="this.textContent += '!'">${name}</button>`);
  for (let count = 1; count <= 10; count++) {
    await page.getByRole('button').click();
    await expect(page.getByRole('button')).toHaveText(name + '!'.repeat(count));
  }
  await page.setContent(`<a href="data:application/octet-stream,${name}" download="${name}.txt">get</a>`);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('get').click()]);
  expect(download.suggestedFilename()).toBe(`${name}.txt`);
}
