import { test } from '@playwright/test';
import { findChromium } from '../../../src/service/chromium/find-chromium.ts';

/** The headless Chromium of this machine, for stock Playwright in comparisons. */
export function systemChromium(): Promise<string> {
  return findChromium(true, process.env['PLAYWRIGHT_POOL_CHROMIUM'], process.env);
}

/** Skips the running test on a machine that has only the headless shell, which runs no extensions. */
export async function needChromium(): Promise<void> {
  const found = await findChromium(false, process.env['PLAYWRIGHT_POOL_CHROMIUM'], process.env).catch(() => '');
  test.skip(found === '', 'needs the whole Chromium: npx playwright install --with-deps chromium');
}
