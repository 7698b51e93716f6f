// The command `playwright-pool test` and the reporter exchange these files in a directory that PLAYWRIGHT_POOL_PASS names.

/** `pass.json`: the work of one start of Playwright. */
export type TestPass = {
  /** Whether only tests run that failed, or have no result, in the attempt before. */
  rerun: boolean;
  /** The tests of other shards that this pass runs instead of its shard's part. */
  claim?: { run: string; attempt: number; member: string; heartbeatMs: number; tests: string[] };
};

/** `outcome.json`: written when the service knows the results of the pass. */
export type PassOutcome = {
  service: { baseURL: string; apiKey: string; projectId?: string | undefined };
  run: string;
  attempt: number;
  shard: { index: number; total: number };
  workers: number;
  heartbeatMs: number;
  /** The directory of the blob report. Other reports can't be merged. */
  blobDirectory?: string | undefined;
  outputDir: string;
  /** Whether somebody or the option `maxFailures` stopped the run, which then shouldn't go on. */
  isStopped: boolean;
};
