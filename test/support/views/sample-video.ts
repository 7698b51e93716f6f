import { fileURLToPath } from 'node:url';
import type { Browser, Page } from '@playwright/test';
import type * as mediabunny from 'mediabunny';
import { test as base } from '../worker.ts';

const bundle = fileURLToPath(
  new URL('../../../node_modules/mediabunny/dist/bundles/mediabunny.min.cjs', import.meta.url),
);

type Videos = Record<'whole' | 'open' | 'white', Buffer>;

/** `videos` are sample videos for all tests of a worker. */
export const test = base.extend<{ videos: Videos }>({
  videos: async ({ worker, browser }, use) => use(await worker.part(encodeVideos, browser)),
});

async function encodeVideos(use: (videos: Videos) => Promise<void>, browser: Browser): Promise<void> {
  const page = await browser.newPage();
  const [whole, open] = [await sampleVideo(page), await sampleVideo(page, { open: true })];
  await use({ whole, open, white: await sampleVideo(page, { white: 2 }) });
}

/**
 * A WebM video of 12 seconds and 5 frames per second, encoded by the page's browser. Like a recording that broke off,
 * one with `open: true` doesn't say how long it is. The first `white` seconds are white.
 */
async function sampleVideo(page: Page, { open = false, white = 0 } = {}): Promise<Buffer> {
  // Only secure origins have encoders.
  await page.route('http://localhost/', (route) => route.fulfill({ contentType: 'text/html', body: '' }));
  await page.goto('http://localhost/');
  await page.addScriptTag({ path: bundle });
  const bytes = await page.evaluate(
    async ({ open, white }) => {
      const { BufferTarget, CanvasSource, Output, WebMOutputFormat } = (
        globalThis as unknown as { Mediabunny: typeof mediabunny }
      ).Mediabunny;
      const canvas = new OffscreenCanvas(320, 180);
      const context = canvas.getContext('2d')!;
      const target = new BufferTarget();
      const output = new Output({ target, format: new WebMOutputFormat({ appendOnly: open }) });
      const source = new CanvasSource(canvas, { codec: 'vp8', bitrate: 200_000 });
      output.addVideoTrack(source);
      await output.start();
      for (let frame = 0; frame < 60; frame++) {
        context.fillStyle = frame / 5 < white ? 'white' : `hsl(${frame * 6} 90% 50%)`;
        context.fillRect(0, 0, canvas.width, canvas.height);
        await source.add(frame / 5, 1 / 5);
      }
      await output.finalize();
      return Array.from(new Uint8Array(target.buffer!));
    },
    { open, white },
  );
  return Buffer.from(bytes);
}
