import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { expect, type Page, type Route } from '@playwright/test';
import { OperationError } from '../../../src/contract/errors.ts';
import { Addresses } from '../../../src/service/http/addresses.ts';
import type { StoredBytes } from '../../../src/service/http/handler.ts';
import { listen } from '../../../src/service/http/server.ts';
import { createPages } from '../../../src/service/views.ts';
import type { ReplayView } from '../../../src/service/replays/replay-view.ts';
import { expectAccessible } from '../../support/views/axe.ts';
import { lowestContrast } from '../../support/views/contrast.ts';
import { test as base } from '../../support/views/sample-video.ts';

type Fixtures = {
  /** The one recording that the pages know. A test may change it. */
  replay: { -readonly [K in keyof ReplayView]: ReplayView[K] };
  /** The address of the pages. */
  url: string;
  /** A link like `replay_view_url`. */
  link: string;
};

const test = base.extend<Fixtures>({
  replay: async ({ videos }, use, testInfo) => {
    const markers = [
      { title: '<b>first</b>', at_ms: 0 },
      { title: 'second', at_ms: 9000 },
    ];
    const startedAt = Date.parse('2026-01-02T03:04:05.678Z');
    const video = await stored(testInfo.outputPath('video'), videos.whole);
    await use({
      id: 'abc',
      title: undefined,
      startedAt,
      finishedAt: startedAt + 12_000,
      error: undefined,
      markers,
      video: async () => video,
    });
  },
  url: async ({ replay }, use) => {
    const findReplay = (id: string, token: string) => (id === replay.id && token === 'secret' ? replay : undefined);
    const pages = createPages({
      findReplay,
      findLiveView: () => undefined,
      addresses: new Addresses(),
      findLogin: () => undefined,
    });
    const server = await listen({ fetch: pages.fetch, port: 0, upgrade: (_request, socket) => socket.destroy() });
    await use(server.url);
    server.stop();
    await server.drain();
  },
  link: async ({ url }, use) => use(`${url}/browser/replays?jwt=secret&replay_id=abc`),
});

// The tests share the videos of one worker.
test.describe.configure({ mode: 'default' });

async function stored(file: string, bytes: Buffer): Promise<StoredBytes> {
  await writeFile(file, bytes);
  return { size: bytes.length, contentType: 'video/webm', read: (part) => createReadStream(file, part) };
}

const currentTime = (page: Page) =>
  page.getByLabel('Recording').evaluate((video: HTMLVideoElement) => video.currentTime);

test('plays and seeks, is not cached, and runs only its own script', async ({ page, replay, link }) => {
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  const response = await page.goto(link);
  expect(response!.status()).toBe(200);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Replay of 2026-01-02 03:04:05 UTC');
  await expect(page.getByRole('navigation').getByRole('button')).toHaveText(['0:00 <b>first</b>', '0:09 second']);
  await page.getByRole('button', { name: 'second' }).click();
  await expect.poll(() => currentTime(page)).toBeCloseTo(9);
  await expect(page.getByRole('alert')).toBeHidden();
  expect(complaints).toEqual([]);

  const headers = response!.headers();
  expect(headers).toMatchObject({
    'content-type': expect.stringMatching(/^text\/html; charset=utf-8$/i),
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  const policy = headers['content-security-policy']!;
  for (const rule of ["default-src 'none'", "frame-ancestors 'self'"]) expect(policy).toContain(rule);
  expect(policy).not.toContain('unsafe');
  const [, nonce] = /script-src 'nonce-([^']+)'/.exec(policy)!;
  expect((await page.reload())!.headers()['content-security-policy']).not.toContain(nonce!);
  await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'document.title = "ran"';
    document.body.append(script);
  });
  await expect(page).not.toHaveTitle('ran');

  replay.title = 'shop.spec.ts › buys a <book>';
  replay.markers = [...replay.markers, { title: 'failed', at_ms: 10_000, failed: true }];
  await page.goto(link);
  await expect.poll(() => currentTime(page)).toBeGreaterThan(8);
  await expect(page.getByRole('navigation').getByRole('button')).toHaveCount(3);
  await expect(page).toHaveTitle('shop.spec.ts › buys a <book>');
  await expect(page.getByRole('banner')).toMatchAriaSnapshot(`
    - heading "shop.spec.ts › buys a <book>" [level=1]
    - paragraph: Recorded on 2026-01-02 03:04:05 UTC`);
});

test("the replay page's video supports range requests", async ({ url, videos }) => {
  const address = `${url}/browser/replays/video?jwt=secret&replay_id=abc`;
  const whole = await fetch(address);
  expect(whole.status).toBe(200);
  expect(whole.headers.get('content-type')).toBe('video/webm');
  expect(whole.headers.get('accept-ranges')).toBe('bytes');
  expect(whole.headers.get('x-content-type-options')).toBe('nosniff');
  expect(whole.headers.get('cache-control')).toBe('private, no-cache');
  expect(Buffer.from(await whole.arrayBuffer())).toEqual(videos.whole);
  const part = await fetch(address, { headers: { range: 'bytes=10-19' } });
  expect(part.status).toBe(206);
  expect(Buffer.from(await part.arrayBuffer())).toEqual(videos.whole.subarray(10, 20));
  const head = await fetch(address, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(videos.whole.length)]);
});

test('the replay page gives the same answer for a wrong id, a wrong token and no token', async ({ page, url }) => {
  const texts: string[] = [];
  const wrong = ['?jwt=secret&replay_id=other', '?jwt=wrong&replay_id=abc'];
  for (const query of [...wrong, '?replay_id=abc', '?jwt=secret', '']) {
    expect((await page.goto(`${url}/browser/replays${query}`))!.status()).toBe(404);
    await expect(page.getByRole('heading')).toHaveText('There is no such replay');
    texts.push(await page.locator('body').innerText());
    const video = await fetch(`${url}/browser/replays/video${query}`);
    expect(video.status).toBe(404);
    expect(video.headers.get('content-type')).toContain('text/html');
  }
  expect(new Set(texts).size).toBe(1);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // The limit of WCAG AA.
    expect(await lowestContrast(page)).toBeGreaterThan(4.5);
  }
});

test('the replay page waits for a running recording, and shows the player @long', async ({ page, replay, link }) => {
  const { finishedAt } = replay;
  replay.finishedAt = undefined;
  await page.goto(link);
  await expect(page.getByRole('status')).toContainText('still being recorded');
  expect((await fetch(link.replace('replays?', 'replays/video?'))).status).toBe(202);
  let loads = 0;
  page.on('load', () => loads++);
  // Twice it is told that it is too early.
  for (let polls = 0; polls < 2; polls++) await page.waitForResponse((response) => response.status() === 202);
  expect(loads).toBe(0);
  replay.finishedAt = finishedAt;
  await expect(page.getByLabel('Recording')).toBeVisible();
  await expect.poll(() => loads).toBe(1);
});

for (const [what, meet, tag] of [
  ['is gone', (route: Route) => route.abort(), []],
  ['does not answer', () => undefined, ['@long']],
] as const) {
  test(`the waiting page says that the service ${what}`, { tag: [...tag] }, async ({ page, replay, link }) => {
    const { finishedAt } = replay;
    replay.finishedAt = undefined;
    await page.goto(link);
    await page.route('**/video?*', meet);
    await expect(page.getByRole('status')).toContainText('cannot be reached', { timeout: 10_000 });
    replay.finishedAt = finishedAt;
    await page.unroute('**/video?*');
    await expect(page.getByLabel('Recording')).toBeVisible();
  });
}

test('says why a recording failed, and plays until then', async ({ page, replay, link, videos }, testInfo) => {
  replay.error = 'the disk on which the service keeps <replays> is full';
  const video = await stored(testInfo.outputPath('open'), videos.open);
  replay.video = async () => video;
  await page.goto(`${link}#t=7`);
  await expect(page.getByText(`The recording broke off: ${replay.error}.`)).toBeVisible();
  await expect.poll(() => currentTime(page)).toBeCloseTo(7, 1);

  replay.error = 'the encoder ended';
  replay.video = async () => {
    throw new OperationError('not_found', 'there is no video');
  };
  expect((await page.reload())!.status()).toBe(200);
  await expect(page.getByRole('status')).toHaveText('The recording broke off: the encoder ended.');
  expect((await fetch(link.replace('replays?', 'replays/video?'))).status).toBe(404);
});

test('axe finds no accessibility problem in each state of the page @long', async ({ page, url, replay, link }) => {
  await page.goto(`${url}/browser/replays`);
  await expectAccessible(page);
  await page.goto(link);
  await expect(page.getByLabel('Recording')).toBeVisible();
  await expectAccessible(page);
  replay.finishedAt = undefined;
  await page.goto(link);
  await expect(page.getByRole('status')).toContainText('still being recorded');
  await expectAccessible(page);
});
