import { appendFileSync } from 'node:fs';
import { test } from 'playwright-pool';

// Pushes the file BENCH_FILE into the session and pulls it back. Appends the duration of each to the file BENCH_TIMES, in milliseconds.
test('a large file goes to the browser and back', async ({ remote }, testInfo) => {
  test.setTimeout(120_000);
  const started = performance.now();
  await remote.files.push(process.env['BENCH_FILE']!, '/home/user/file');
  const pushed = performance.now();
  await remote.files.pull('/home/user/file', testInfo.outputPath('file'));
  appendFileSync(process.env['BENCH_TIMES']!, `push ${pushed - started}\npull ${performance.now() - pushed}\n`);
});
