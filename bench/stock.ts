import { chromium, type Browser } from '@playwright/test';
import { findChromium } from '../build/src/service/browsers/find-chromium.js';

/** The Chromium that the service runs, for the other side: as `executablePath`. */
export const executable = await findChromium(true, process.env['PLAYWRIGHT_POOL_CHROMIUM'], process.env);

/** A browser as Playwright itself launches it. */
export async function launchStock(): Promise<Browser> {
  return await chromium.launch({ executablePath: executable });
}
