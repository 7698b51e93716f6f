import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { test } from 'playwright-pool';

// Appends the duration of each lease, up to its first context, to the file BENCH_TIMES.
for (let number = 1; number <= 5; number++) {
  test(`lease ${number}`, async ({ browser }) => {
    const started = performance.now();
    await browser.newContext();
    appendFileSync(process.env['BENCH_TIMES']!, `${performance.now() - started}\n`);
    // Gives the pool time to fill again.
    await setTimeout(500);
  });
}
