import { chromium, type Browser } from '@playwright/test';
import { findChromium } from '../build/src/service/chromium/find-chromium.js';

/** The service's Chromium as `executablePath`, for Playwright alone: the other side of a comparison. */
export const executable = await findChromium(true, process.env['PLAYWRIGHT_POOL_CHROMIUM'], process.env);

/** Launches a browser with Playwright alone. */
export async function launchStock(): Promise<Browser> {
  return await chromium.launch({ executablePath: executable });
}
