import { expect } from '@playwright/test';
import { clickAt, middle } from '../../support/views/live-view.ts';
import { test } from '../../support/views/replays.ts';

test('replay_view_url plays a recording, with its markers as chapters @long', async ({ page, service, record }) => {
  const recording = await record();
  await page.goto(recording.replay.replay_view_url);
  await expect(page.getByRole('status')).toContainText('still being recorded');
  const shown = await recording.openPage();
  await recording.show(shown, 'red', 700);
  const marked = await service.call('POST', `${recording.path}/replays/${recording.replay.replay_id}/markers`, {
    title: 'Blue',
  });
  expect(marked.status).toBe(201);
  await recording.show(shown, 'blue', 700);
  expect((await recording.stop()).status).toBe(200);

  await page.getByRole('button', { name: 'Blue' }).click();
  const video = page.getByLabel('Recording');
  await expect.poll(() => video.evaluate(({ currentTime }: HTMLVideoElement) => currentTime)).toBeGreaterThan(0);
  expect(await video.evaluate(({ duration }: HTMLVideoElement) => duration)).toBeGreaterThan(1.3);

  expect((await service.call('DELETE', `${recording.path}/replays/${recording.replay.replay_id}`)).status).toBe(204);
  expect((await page.reload())!.status()).toBe(404);
});

test('browser_live_view_url works until the session is deleted @long', async ({ page, service, record }) => {
  const recording = await record();
  const { body: browser } = await service.call('GET', recording.path);
  const shown = await recording.openPage();
  await shown.setContent('<body style="background: blue" onclick="this.style.background = \'red\'">');
  await page.goto(browser.browser_live_view_url);
  await expect.poll(() => middle(page)).toBe('001');
  await clickAt(page, 0.5, 0.5);
  await expect.poll(() => middle(page)).toBe('100');
  expect((await service.call('DELETE', recording.path)).status).toBe(204);
  await expect(page.getByRole('status')).toHaveText('Ended: the session has ended, or its lease was given back.');
  expect((await page.reload())!.status()).toBe(404);
});

test('the replay and live view pages ask for no API key, everything else does', async ({ service }) => {
  for (const path of [
    '/browser/replays',
    '/browser/replays/video',
    '/browser/replay/other',
    '/browser/live',
    '/browser/live/other',
  ]) {
    const response = await fetch(`${service.url}${path}`);
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=UTF-8']);
    expect((await fetch(`${service.url}${path}`, { method: 'POST' })).status).toBe(401);
  }
  for (const path of ['/browser', '/browser/live/other/x', '/browsers'])
    expect((await fetch(`${service.url}${path}`)).status).toBe(401);
});
