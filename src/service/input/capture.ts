import { setTimeout as sleep } from 'node:timers/promises';
import { OperationError } from '../../contract/errors.ts';
import type { ActedPage } from './acted-page.ts';

/** In ms. */
const longestWait = 5000;
const interval = 50;

/**
 * Returns a PNG image of a page. Chromium refuses it ("Unable to capture screenshot") while a page that has just opened
 * has drawn nothing yet. Asks again for 5 s, then throws `conflict`.
 */
export async function capture(page: ActedPage, signal: AbortSignal): Promise<Buffer> {
  const deadline = performance.now() + longestWait;
  while (true) {
    try {
      const { data } = await page.send('Page.captureScreenshot', { format: 'png' });
      return Buffer.from(data, 'base64');
    } catch (error) {
      if (page.isLost || signal.aborted) throw error;
      if (performance.now() > deadline) {
        throw new OperationError(
          'conflict',
          'Chromium took no picture of the page in view for 5 s: repeat the request',
          {
            cause: error,
          },
        );
      }
    }
    await sleep(interval, undefined, { signal });
  }
}
