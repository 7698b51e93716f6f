import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, type TestInfo } from '@playwright/test';
import { Encoder } from '../../../src/service/replays/encoder.ts';
import { startService } from '../../../src/service/service.ts';
import { TestClock } from '../../support/service/clock.ts';
import { processesWith, processFile, sendSignal } from '../../support/processes/processes.ts';
import { showUntilWritten, startRecording, test, videoOf } from '../../support/views/replays.ts';
import { callerOf, dataDirectory } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { isLong, longOnly } from '../../support/processes/long-form.ts';
import { sessionsDirectory } from '../../support/processes/sessions-directory.ts';

/** A page that always changes and compresses badly. */
const noise = `data:text/html,<body style="margin:0"><canvas width=640 height=360></canvas><script>
  const context = document.querySelector('canvas').getContext('2d');
  const image = context.createImageData(640, 360);
  (function draw() {
    for (let i = 0; i < image.data.length; i++) image.data[i] = i % 4 === 3 ? 255 : Math.random() * 256;
    context.putImageData(image, 0, 0);
    requestAnimationFrame(draw);
  })();
</script>`;

async function killEncoder(directory: string): Promise<void> {
  await expect.poll(() => processesWith(`${sessionsDirectory(directory)}/encoder-`).length).toBeGreaterThan(0);
  sendSignal(processesWith(`${sessionsDirectory(directory)}/encoder-`), 'SIGKILL');
}

const settings = { width: 320, height: 240, framerate: 10 };

function encoderIn(testInfo: TestInfo, executable?: string) {
  const directory = testInfo.outputPath('encoders');
  mkdirSync(directory);
  const clock = new TestClock();
  const chromium = executable === undefined ? {} : { executable };
  return { directory, clock, encoder: new Encoder({ directory, chromium, environment: process.env, clock }) };
}

/** Starts the built command `serve`. */
async function serveCommand(directory: string, ...more: string[]) {
  const child = new CliProcess(['serve', '--port', '0', '--data-dir', directory, ...more]);
  const url = (await child.firstLine()).replace('listening on ', '');
  return { child, url, apiKey: readFileSync(path.join(directory, 'api-key'), 'utf8').trim() };
}

/** A process with all its descendants. */
function processesOf(pid: number): number[] {
  const children = processFile(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid].concat(...children.map((child) => processesOf(child)));
}

test('a recording ends with an error if its encoder is killed, and the next one works @long', async ({}, testInfo) => {
  await using service = await startService({ dataDirectory: dataDirectory(testInfo) });
  const recording = await startRecording(service);
  const page = await recording.openPage();
  const redAt = await showUntilWritten(recording, page, 'red', dataDirectory(testInfo));
  await showUntilWritten(recording, page, 'lime', dataDirectory(testInfo));
  await killEncoder(dataDirectory(testInfo));
  await recording.show(page, 'blue', 100);
  const { status, body } = await recording.stop();
  const message = expect.stringContaining('the browser that encodes recordings ended');
  expect([status, body]).toMatchObject([500, { code: 'recording_failed', message }]);
  expect(await recording.state()).toMatchObject({ finished_at: expect.any(String), error_message: body.message });
  await using video = await recording.video();
  expect(await video.colorAt(redAt)).toBe('red');

  const call = callerOf(service);
  const { body: next } = await call('POST', `${recording.path}/replays`, {});
  await recording.show(page, 'blue', 1500);
  expect((await call('POST', `${recording.path}/replays/${next.replay_id}/stop`)).status).toBe(200);
  await using nextVideo = await videoOf(service, `${recording.path}/replays/${next.replay_id}`);
  expect(await nextVideo.colorAt(nextVideo.duration - 0.1)).toBe('blue');
  await recording.browser.close();
});

for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
  test(`a recording ends with an error if its encoder's page gets ${signal} @long`, async ({}, testInfo) => {
    test.skip(signal === 'SIGSTOP' && !isLong, longOnly);
    test.setTimeout(90_000);
    const { directory, encoder } = encoderIn(testInfo);
    try {
      const video = await encoder.begin(settings, undefined);
      const all = new Set(processesWith(directory).flatMap((pid) => processesOf(pid)));
      const renderers = processesWith('--type=renderer').filter((pid) => all.has(pid));
      sendSignal(renderers, signal);
      await expect(video.finish(0.1)).rejects.toMatchObject({ code: 'recording_failed' });
      await expect.poll(() => processesWith(directory)).toEqual([]);
      expect((await (await encoder.begin(settings, undefined)).finish(0.1)).length).toBeGreaterThan(0);
    } finally {
      await encoder.close();
    }
  });
}

test('leaves nothing of a recording whose encoder does not start', async ({}, testInfo) => {
  const { directory, encoder } = encoderIn(testInfo, '/bin/false');
  await expect(encoder.begin(settings, undefined)).rejects.toThrow(/ended with code 1/);
  expect(readdirSync(directory)).toEqual([]);
});

test('starts another encoder for a recording that begins while the idle encoder ends @long', async ({}, testInfo) => {
  const { directory, clock, encoder } = encoderIn(testInfo);
  try {
    await (await encoder.begin(settings, undefined)).cancel();
    clock.advance(60_000);
    expect((await (await encoder.begin(settings, undefined)).finish(0.1)).length).toBeGreaterThan(0);
  } finally {
    await encoder.close();
  }
  await expect.poll(() => processesWith(directory)).toEqual([]);
});

test('completes the video of a recording if its browser is killed', async ({}, testInfo) => {
  await using service = await startService({ dataDirectory: dataDirectory(testInfo) });
  const recording = await startRecording(service);
  await showUntilWritten(recording, await recording.openPage(), 'red', dataDirectory(testInfo));
  // Only the completion of the video adds this time to it.
  await sleep(1000);
  const elapsed = recording.elapsed();
  sendSignal(processesWith(`/${recording.sessionId}/user-data`), 'SIGKILL');
  await expect.poll(async () => (await recording.state()).finished_at).not.toBeNull();
  expect((await recording.stop()).status).toBe(200);
  await using video = await recording.video();
  expect(video.duration).toBeGreaterThan(elapsed - 0.3);
  expect(await video.colorAt(video.duration - 0.1)).toBe('red');
});

for (const format of ['h264', 'vp8'] as const) {
  test(`plays a recording in ${format} that a killed service left, and says why it ended @long`, async ({}, testInfo) => {
    const directory = dataDirectory(testInfo);
    const serve = () => serveCommand(directory, '--replay-format', format);
    const first = await serve();
    const recording = await startRecording(first);
    const page = await recording.openPage();
    const redAt = await showUntilWritten(recording, page, 'red', directory);
    const limeAt = await showUntilWritten(recording, page, 'lime', directory);
    first.child.child.kill('SIGKILL');
    await first.child.exited;

    const second = await serve();
    await using _stopped = second.child;
    const { body: list } = await callerOf(second)('GET', `${recording.path}/replays`);
    const { replay_id } = recording.replay;
    const error_message = expect.stringContaining('service ended');
    expect(list).toMatchObject([{ replay_id, finished_at: expect.any(String), error_message }]);
    await using video = await videoOf(second, `${recording.path}/replays/${replay_id}`);
    expect(await video.colorAt(redAt)).toBe('red');
    expect(await video.colorAt(limeAt)).toBe('lime');
    const next = await startRecording(second);
    await next.show(await next.openPage(), 'blue', 200);
    expect((await next.stop()).status).toBe(200);
    await next.browser.close();
  });
}

test('a recording ends with an error on a full disk, and its video plays until then @long', async ({ tinyDisk }) => {
  await using service = await startService({ dataDirectory: tinyDisk });
  const recording = await startRecording(service);
  const page = await recording.openPage();
  const redAt = await showUntilWritten(recording, page, 'red', tinyDisk);
  await page.goto(noise);
  await expect.poll(async () => (await recording.state()).finished_at, { timeout: 20_000 }).not.toBeNull();
  const { status, body } = await recording.stop();
  expect([status, body.message]).toEqual([507, expect.stringContaining('full')]);
  await using video = await recording.video();
  expect(await video.colorAt(redAt)).toBe('red');

  const call = callerOf(service);
  await call('DELETE', `${recording.path}/replays/${recording.replay.replay_id}`);
  const { body: next } = await call('POST', `${recording.path}/replays`, {});
  await page.goto('about:blank');
  expect((await call('POST', `${recording.path}/replays/${next.replay_id}/stop`)).status).toBe(200);
  await recording.browser.close();
});

test('keeps replays for a week @long', async ({}, testInfo) => {
  const directory = dataDirectory(testInfo);
  const clock = new TestClock();
  const kept = await recordOnce({ dataDirectory: directory, clock });
  expect(readdirSync(path.join(directory, 'replays'))).toEqual([kept.replay.replay_id]);
  clock.advance(6.9 * 24 * 3600 * 1000);
  const { replay } = await recordOnce({ dataDirectory: directory, clock });
  expect(readdirSync(path.join(directory, 'replays')).sort()).toEqual([kept.replay.replay_id, replay.replay_id].sort());
  clock.advance(0.2 * 24 * 3600 * 1000);
  await using _service = await startService({ dataDirectory: directory, clock });
  expect(readdirSync(path.join(directory, 'replays'))).toEqual([replay.replay_id]);
});

async function recordOnce(options: { dataDirectory: string; clock: TestClock }) {
  await using service = await startService(options);
  const recording = await startRecording(service);
  await recording.show(await recording.openPage(), 'red', 0);
  await recording.stop();
  await recording.browser.close();
  return recording;
}

test('uses bounded memory for a long recording @long', async ({}, testInfo) => {
  test.setTimeout(isLong ? 900_000 : 120_000);
  const served = await serveCommand(dataDirectory(testInfo));
  await using child = served.child;
  const recording = await startRecording(served, { framerate: 60 });
  const page = await recording.openPage();
  await page.goto(noise);
  const memory = () =>
    memoryOf([child.child.pid!, ...processesWith(`${sessionsDirectory(dataDirectory(testInfo))}/encoder-`)]);
  const frames = async (count: number) => {
    await page.evaluate(async (count) => {
      for (let frame = 0; frame < count; frame++) await new Promise(requestAnimationFrame);
    }, count);
  };
  await frames(isLong ? 600 : 120);
  const before = memory();
  await frames(isLong ? 6000 : 360);
  expect(memory() - before).toBeLessThan(150);
  expect((await recording.stop()).status).toBe(200);
  await recording.browser.close();
});

/** The memory of the processes together, in MiB. Shared memory counts once. */
function memoryOf(pids: number[]): number {
  const kilobytes = pids.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(processFile(pid, 'smaps_rollup'))?.[1] ?? 0));
  return kilobytes.reduce((sum, value) => sum + value, 0) / 1024;
}
