import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium, expect, type Browser, type Page } from '@playwright/test';
import { mountSmallDisk } from '../processes/small-disk.ts';
import { callerOf, dataDirectory, test as base, type Call } from '../service/service.ts';
import { openVideo, type Color, type OpenVideo } from './video.ts';

type Replay = {
  replay_id: string;
  started_at: string;
  finished_at: string | null;
  replay_view_url: string;
  error_message?: string;
};
type At = { url: string; apiKey: string };

type Fixtures = {
  /** Starts a session of 640x360, or another size, connects Playwright and closes it with the test. */
  record: (options?: object) => Promise<Recording>;
  /** A data directory whose replays are on a disk of 256 KiB. */
  tinyDisk: string;
};

export const test = base.extend<Fixtures>({
  record: async ({ service }, use) => {
    const browsers: Browser[] = [];
    await use(async (options) => {
      const recording = await startRecording(service, options);
      browsers.push(recording.browser);
      return recording;
    });
    await Promise.all(browsers.map((browser) => browser.close()));
  },
  tinyDisk: async ({}, use, testInfo) => {
    const directory = dataDirectory(testInfo);
    const replays = join(directory, 'replays');
    mkdirSync(replays, { recursive: true });
    using _ = mountSmallDisk(replays, '256k');
    await use(directory);
  },
});

/** A session that is being recorded. */
export type Recording = {
  /** `/browsers/{id}` of the session. */
  path: string;
  sessionId: string;
  replay: Replay;
  browser: Browser;
  /** Shows a colour on the page for some milliseconds. */
  show(page: Page, color: Color, ms: number): Promise<void>;
  openPage(): Promise<Page>;
  /** Seconds since its start. */
  elapsed(): number;
  stop(): ReturnType<Call>;
  /** Its entry in `GET /browsers/{id}/replays`. */
  state(): Promise<Replay>;
  /** The finished video, open in a real browser. */
  video(): Promise<OpenVideo & { contentType: string }>;
};

/** Starts recording a new session. */
export async function startRecording(service: At, options: object = {}): Promise<Recording> {
  const call = callerOf(service);
  const viewport = { width: 640, height: 360 };
  const { body: session } = await call('POST', '/browsers', { headless: true, viewport });
  const path = `/browsers/${session.session_id}`;
  const { status, body: replay } = await call('POST', `${path}/replays`, options);
  expect(status, JSON.stringify(replay)).toBe(201);
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  return {
    path,
    sessionId: session.session_id,
    replay,
    browser,
    openPage: async () => (await browser.newContext({ viewport })).newPage(),
    async show(page, color, ms) {
      await page.goto(`data:text/html,<body style="background:${color}">`);
      await painted(page);
      await sleep(ms);
    },
    elapsed: () => (Date.now() - Date.parse(replay.started_at)) / 1000,
    stop: () => call('POST', `${path}/replays/${replay.replay_id}/stop`),
    async state() {
      const { body } = await call('GET', `${path}/replays`);
      return body.find(({ replay_id }: Replay) => replay_id === replay.replay_id);
    },
    video: () => videoOf(service, `${path}/replays/${replay.replay_id}`),
  };
}

/** Waits until the current picture of the page was drawn. */
async function painted(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/**
 * Shows a colour until the only video in a data directory has two more fragments, because the first can end before the
 * colour. Returns a second at which the video has the colour.
 */
export async function showUntilWritten(
  recording: Recording,
  page: Page,
  color: Color,
  directory: string,
): Promise<number> {
  const videos = join(directory, 'replays');
  const fragments = () =>
    readdirSync(videos).reduce((sum, name) => sum + fragmentsOf(readFileSync(join(videos, name))), 0);
  const nextFragment = async (change: () => Promise<void>) => {
    const before = fragments();
    await change();
    await expect.poll(fragments, { timeout: 30_000 }).toBeGreaterThan(before);
  };
  let shownAt = 0;
  await nextFragment(async () => {
    await recording.show(page, color, 0);
    shownAt = recording.elapsed();
  });
  // The recorder writes a fragment only after a new frame.
  await nextFragment(() => page.evaluate(() => document.body.append('.')));
  return (shownAt + recording.elapsed()) / 2;
}

/** The names of fragments in MP4 and WebM. */
const fragmentNames = ['moof', '\u001fC\u00b6u'];

/** Before its first fragment, a video has only its header, and can't be played. */
function fragmentsOf(video: Buffer): number {
  const text = video.toString('latin1');
  return fragmentNames.reduce((sum, name) => sum + text.split(name).length - 1, 0);
}

/** Opens the video at a path of the service in a real browser. */
export async function videoOf({ url, apiKey }: At, path: string): Promise<OpenVideo & { contentType: string }> {
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
  expect(response.status).toBe(200);
  const contentType = response.headers.get('content-type')!;
  return { contentType, ...(await openVideo(Buffer.from(await response.arrayBuffer()), contentType)) };
}
