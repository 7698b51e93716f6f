import { findChromium } from '../../src/service/browsers/find-chromium.ts';

/** The headless Chromium of this machine, for stock Playwright, to which a test compares. */
export function systemChromium(): Promise<string> {
  return findChromium(true, process.env['PLAYWRIGHT_POOL_CHROMIUM'], process.env);
}
