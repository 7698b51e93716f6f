import { chromium, test as stock } from '@playwright/test';

export { expect } from '@playwright/test';

/** Playwright's own test in a Chromium that runs already, connected to its port: a lease that costs nothing, of a browser with nothing in between. */
export const test: typeof stock = stock.extend({
  browser: [
    async ({}, use, { parallelIndex }) => {
      const browser = await chromium.connectOverCDP(process.env['BENCH_PORTS']!.split(' ')[parallelIndex]!);
      await use(browser);
      await browser.close();
    },
    { scope: 'worker' },
  ],
});
