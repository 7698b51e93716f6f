import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { startService } from '../../../src/service/service.ts';
import { openVideo } from '../../support/views/video.ts';
import { isLong, longOnly } from '../../support/processes/long-form.ts';
import { startRecording, test, videoOf } from '../../support/views/replays.ts';

/** Long enough for a page to be recorded on a busy machine, too. */
const shownMs = 1500;

test('a replay records the page with the right times', async ({ record }) => {
  const recording = await record({ framerate: 10 });
  const page = await recording.openPage();
  const shownAt: [string, number][] = [];
  for (const color of ['red', 'lime', 'blue'] as const) {
    await recording.show(page, color, shownMs);
    shownAt.push([color, recording.elapsed() - 0.2]);
  }
  const elapsed = recording.elapsed();
  expect((await recording.stop()).status).toBe(200);
  const { started_at, finished_at } = await recording.state();
  await using video = await recording.video();
  expect(video).toMatchObject({ width: 640, height: 360 });
  expect(video.duration).toBeGreaterThan(elapsed - 0.3);
  expect(video.duration).toBeLessThan((Date.parse(finished_at!) - Date.parse(started_at)) / 1000 + 0.3);
  for (const [color, second] of shownAt) expect(await video.colorAt(second)).toBe(color);
  expect(await video.colorAt(video.duration - 0.05)).toBe('blue');
});

test('a replay records tabs, popups and isolated contexts @long', async ({ record }) => {
  const recording = await record();
  const expected: [string, number][] = [];
  const hold = async (color: string) => {
    await sleep(shownMs);
    expected.push([color, recording.elapsed() - 0.1]);
  };
  // Like an empty page, a replay is white until a page is shown.
  await hold('white');
  expected.push(['white', 0], ['white', 0.2]);
  const first = await recording.openPage();
  await recording.show(first, 'red', 0);
  await hold('red');
  const second = await first.context().newPage();
  await recording.show(second, 'lime', 0);
  await hold('lime');
  const popupOpened = first.waitForEvent('popup');
  await first.evaluate(() => void window.open('about:blank', '', 'width=300,height=300'));
  const popup = await popupOpened;
  await popup.evaluate(() => (document.body.style.background = 'blue'));
  await hold('blue');
  const isolated = await recording.openPage();
  await recording.show(isolated, 'yellow', 0);
  await hold('yellow');
  await first.bringToFront();
  await hold('red');
  await isolated.bringToFront();
  await hold('yellow');
  await isolated.close();
  await hold('red');
  await recording.stop();
  await using video = await recording.video();
  for (const [color, at] of expected) expect([at, await video.colorAt(at)]).toEqual([at, color]);
});

for (const [replayFormat, contentType] of [
  ['h264', 'video/mp4'],
  ['vp9', 'video/webm'],
  ['vp8', 'video/webm'],
] as const) {
  test(`encodes recordings in the format ${replayFormat} @long`, async () => {
    await using service = await startService({ replayFormat });
    const recording = await startRecording(service, { size: { width: 322, height: 241 } });
    await recording.show(await recording.openPage(), 'magenta', shownMs);
    await recording.stop();
    await using video = await recording.video();
    expect(video).toMatchObject({ contentType, width: 322, height: 242 });
    expect(await video.colorAt(video.duration - 0.1)).toBe('magenta');
    await recording.browser.close();
  });
}

test('a replay records a page that navigates while it comes into view', async ({ record, service }) => {
  test.skip(!isLong, longOnly);
  test.setTimeout(600_000);
  const { path, browser } = await record();
  for (let round = 0; round < 100; round++) {
    const { body: replay } = await service.call('POST', `${path}/replays`, {});
    const context = await browser.newContext();
    const page = await context.newPage();
    // Where Chromium has sent no frame of a new page, its screencast is started anew about now.
    await sleep(150 + Math.random() * 120);
    await page.goto('data:text/html,<body style="background:red">');
    await sleep(1000);
    await service.call('POST', `${path}/replays/${replay.replay_id}/stop`);
    await context.close();
    await using video = await videoOf(service, `${path}/replays/${replay.replay_id}`);
    expect([round, await video.colorAt(video.duration - 0.1)]).toEqual([round, 'red']);
  }
});

test('a download waits for the end, and takes ranges @long', async ({ record, service: { call, url, apiKey } }) => {
  const recording = await record();
  const path = `${recording.path}/replays/${recording.replay.replay_id}`;
  const early = await call('GET', path);
  expect(early.status).toBe(202);
  expect(Number(early.headers.get('retry-after'))).toBeGreaterThan(0);
  await recording.show(await recording.openPage(), 'red', 200);
  await recording.stop();

  const authorization = `Bearer ${apiKey}`;
  const whole = await fetch(`${url}${path}`, { headers: { authorization } });
  const bytes = Buffer.from(await whole.arrayBuffer());
  expect(whole.headers.get('accept-ranges')).toBe('bytes');
  const part = await fetch(`${url}${path}`, { headers: { authorization, range: 'bytes=10-19' } });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${bytes.length}`]);
  expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(10, 20))).toBe(true);
  const tail = await fetch(`${url}${path}`, { headers: { authorization, range: 'bytes=-5' } });
  expect(Buffer.from(await tail.arrayBuffer()).equals(bytes.subarray(-5))).toBe(true);
  expect((await call('GET', path, undefined, { range: `bytes=${bytes.length}-` })).status).toBe(416);
  expect((await fetch(`${url}${path}`, { headers: { authorization, range: 'apples=1-2' } })).status).toBe(200);
  const head = await fetch(`${url}${path}`, { method: 'HEAD', headers: { authorization } });
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
});

test('a session has several recordings, also one with a maximum duration @long', async ({ record, service }) => {
  const recording = await record({ max_duration_in_seconds: 1 });
  const page = await recording.openPage();
  const { body: second } = await service.call('POST', `${recording.path}/replays`, { framerate: 60 });
  await recording.show(page, 'red', 0);
  await expect.poll(async () => (await recording.state()).finished_at, { timeout: 10_000 }).not.toBeNull();
  await using video = await recording.video();
  expect(video.duration).toBeGreaterThan(0.9);
  expect(video.duration).toBeLessThan(1.5);
  expect((await recording.stop()).status).toBe(200);

  const { body: list } = await service.call('GET', `${recording.path}/replays`);
  expect(list).toMatchObject([
    { replay_id: recording.replay.replay_id, finished_at: expect.any(String) },
    { replay_id: second.replay_id, finished_at: null },
  ]);
  await service.call('POST', `${recording.path}/replays/${second.replay_id}/stop`);
  for (const { replay_id } of [recording.replay, second]) {
    const path = `${recording.path}/replays/${replay_id}`;
    expect((await service.call('GET', path, undefined, { range: 'bytes=0-99' })).status).toBe(206);
  }
});

test('a recording ends with its session or lease, and is kept @long', async ({ record, service: { call } }) => {
  const recording = await record();
  await recording.show(await recording.openPage(), 'red', shownMs);
  expect((await call('DELETE', recording.path)).status).toBe(204);
  await expect.poll(async () => (await recording.state()).finished_at).not.toBeNull();
  await using video = await recording.video();
  expect(await video.colorAt(video.duration - 0.1)).toBe('red');
  expect((await call('POST', `${recording.path}/replays`, {})).status).toBe(404);

  await call('POST', '/browser_pools', { name: 'one', size: 1, headless: true });
  const { body: leased } = await call('POST', '/browser_pools/one/acquire', { acquire_timeout_seconds: 30 });
  const path = `/browsers/${leased.session_id}/replays`;
  const { body: replay } = await call('POST', path, {});
  await call('POST', '/browser_pools/one/release', { session_id: leased.session_id, reuse: true });
  await expect.poll(async () => (await call('GET', path)).body[0].finished_at).not.toBeNull();
  expect((await call('POST', `${path}/${replay.replay_id}/stop`)).status).toBe(200);
});

test('finds recordings by title and id, and deletes running ones', async ({ record, service: { call } }) => {
  const one = await record({ title: 'Buys a Book' });
  const other = await record();
  const found = async (query: string) => {
    const { body } = await call('GET', `/replays?${query}`);
    return body.map(({ replay_id }: { replay_id: string }) => replay_id);
  };
  const [first, second] = [one.replay.replay_id, other.replay.replay_id];
  expect(await found('')).toEqual([second, first]);
  expect(await found('limit=1&offset=1')).toEqual([first]);
  expect(await found('query=a+book')).toEqual([first]);
  expect(await found(`query=${other.sessionId}`)).toEqual([second]);
  expect(await found(`query=${first}`)).toEqual([first]);
  expect(await found('query=%25')).toEqual([]);
  const path = `${one.path}/replays/${first}`;
  const statuses = [];
  for (const method of ['DELETE', 'GET', 'DELETE']) statuses.push((await call(method, path)).status);
  expect(statuses).toEqual([204, 404, 404]);
  expect((await call('GET', `${one.path}/replays`)).body).toEqual([]);
});

test('a replay sorts its markers by time, and refuses bad input @long', async ({ record, service: { call, url } }) => {
  const recording = await record();
  const path = `${recording.path}/replays`;
  for (const body of [
    { framerate: 0 },
    { framerate: 61 },
    { framerate: 2.5 },
    { max_duration_in_seconds: 0 },
    { size: { width: 10, height: 10 } },
  ]) {
    const { status, body: error } = await call('POST', path, body);
    expect([body, status]).toEqual([body, 400]);
    expect(error.details?.[0], JSON.stringify(body)).toEqual({
      code: 'invalid_input',
      message: expect.stringContaining(Object.keys(body)[0]!),
    });
  }
  expect(await call('POST', path, { record_audio: true })).toMatchObject({
    status: 501,
    body: { code: 'not_implemented', message: expect.stringContaining('record_audio') },
  });
  expect((await call('POST', `${path}/unknown/stop`)).status).toBe(404);
  expect((await call('GET', `${path}/unknown`)).status).toBe(404);
  expect((await call('GET', '/browsers/unknown/replays')).status).toBe(404);
  expect((await call('POST', '/browsers/unknown/replays', {})).status).toBe(404);

  const markers = `${path}/${recording.replay.replay_id}/markers`;
  const mark = async (marker: object) => (await call('POST', markers, marker)).status;
  expect([await mark({ title: 'later' }), await mark({ title: 'first', at_ms: 0 })]).toEqual([201, 201]);
  // As the hosted service does: a second stop forces the end.
  expect((await recording.stop()).status).toBe(200);
  expect((await recording.stop()).status).toBe(200);
  expect([await mark({ title: 'when?' }), await mark({ title: ' ' })]).toEqual([409, 400]);
  const page = await (await fetch(recording.replay.replay_view_url.replace(/^http:\/\/[^/]+/, url))).text();
  expect(page.indexOf('first')).toBeGreaterThan(0);
  expect(page.indexOf('later')).toBeGreaterThan(page.indexOf('first'));
});

test("the hosted service's SDK starts, stops and downloads replays @long", async ({ service, record }) => {
  const kernel = new Kernel({ baseURL: service.url, apiKey: service.apiKey });
  const { sessionId: id, ...recording } = await record();
  const started = await kernel.browsers.replays.start(id, { framerate: 5, max_duration_in_seconds: 60 });
  await recording.show(await recording.openPage(), 'cyan', shownMs);
  expect(await kernel.browsers.replays.list(id)).toHaveLength(2);
  await kernel.browsers.replays.stop(started.replay_id, { id });
  const answer = await kernel.browsers.replays.download(started.replay_id, { id });
  await using video = await openVideo(Buffer.from(await answer.arrayBuffer()), answer.headers.get('content-type')!);
  expect(await video.colorAt(video.duration - 0.1)).toBe('cyan');
});
