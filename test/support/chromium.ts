import { findChromium } from '../../src/service/chromium/find-chromium.ts';

/** The headless Chromium of this machine, for stock Playwright in comparisons. */
export function systemChromium(): Promise<string> {
  return findChromium(true, process.env['PLAYWRIGHT_POOL_CHROMIUM'], process.env);
}
