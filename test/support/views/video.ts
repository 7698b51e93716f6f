import { chromium, type Page } from '@playwright/test';
import { serve } from '../http/serve.ts';
import { systemChromium } from './chromium.ts';

export type Color = 'black' | 'white' | 'red' | 'lime' | 'blue' | 'yellow' | 'magenta' | 'cyan';

/** A video in a page of a real browser. */
export type OpenVideo = {
  /** In seconds; Infinity if the file doesn't say. */
  duration: number;
  width: number;
  height: number;
  /** The pure colour nearest to the middle of the picture at a second of the video. */
  colorAt(second: number): Promise<Color>;
} & AsyncDisposable;

/** Opens a video in a real browser. Throws when it can't be played. */
export async function openVideo(bytes: Uint8Array, contentType: string): Promise<OpenVideo> {
  const server = await serve((request, response) => {
    if (request.url !== '/video')
      return response.setHeader('content-type', 'text/html').end('<video src="/video" preload="auto"></video>');
    const [, first = '0', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const [start, end] = [Number(first), last === '' ? bytes.length - 1 : Number(last)];
    const headers = {
      'content-type': contentType,
      'accept-ranges': 'bytes',
      'content-range': `bytes ${start}-${end}/${bytes.length}`,
    };
    return response.writeHead(206, headers).end(bytes.subarray(start, end + 1));
  });
  const browser = await chromium.launch({ executablePath: await systemChromium() });
  const dispose = async () => {
    await browser.close();
    await server[Symbol.asyncDispose]();
  };
  try {
    const page = await browser.newPage();
    await page.goto(server.url);
    const { duration, width, height } = await loaded(page);
    return { duration, width, height, colorAt: (second) => colorAt(page, second), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function loaded(page: Page) {
  return await page.locator('video').evaluate(async (element) => {
    const video = element as HTMLVideoElement;
    if (video.readyState < 2) {
      await new Promise((resolve, reject) => {
        video.addEventListener('loadeddata', resolve);
        video.addEventListener('error', () => reject(new Error(`the video can't be played: ${video.error?.message}`)));
        if (video.error) reject(new Error(`the video can't be played: ${video.error.message}`));
      });
    }
    return { duration: video.duration, width: video.videoWidth, height: video.videoHeight };
  });
}

async function colorAt(page: Page, second: number): Promise<Color> {
  return await page.locator('video').evaluate(async (element, second) => {
    const video = element as HTMLVideoElement;
    if (video.currentTime !== second) {
      await new Promise((resolve, reject) => {
        setTimeout(() => reject(new Error(`the video of ${video.duration} s can't be shown at ${second} s`)), 15_000);
        // After a seek the old picture can stay for a moment. If both times have the same picture, the browser presents
        // no new one.
        const presented = new Promise((done) => video.requestVideoFrameCallback(done));
        video.addEventListener('seeked', () => setTimeout(resolve, 1000), { once: true });
        video.addEventListener('seeked', () => void presented.then(resolve), { once: true });
        video.currentTime = second;
      });
    }
    const context = new OffscreenCanvas(1, 1).getContext('2d')!;
    context.drawImage(video, video.videoWidth / 2, video.videoHeight / 2, 1, 1, 0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
    const bits = (red > 127 ? 4 : 0) + (green > 127 ? 2 : 0) + (blue > 127 ? 1 : 0);
    return (['black', 'blue', 'lime', 'cyan', 'red', 'magenta', 'yellow', 'white'] as const)[bits]!;
  }, second);
}
