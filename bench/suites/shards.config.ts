import { defineConfig } from '@playwright/test';

/** The config of `shards.spec.ts` as the shard in BENCH_SHARD. */
export default defineConfig({
  testMatch: 'shards.spec.ts',
  outputDir: '../test-results',
  fullyParallel: true,
  shard: { current: Number(process.env['BENCH_SHARD']), total: 8 },
  reporter: './timed-reporter.ts',
});
