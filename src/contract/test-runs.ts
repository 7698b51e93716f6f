import { z } from 'zod';
import { empty, json, list, operation } from './operation.ts';
import { pageQuery, queryInteger, timestamp } from './values.ts';

/** The name of a run: the same for all shards of one run, and for its later attempts. */
export const runName = z.string().regex(/^[\w.:@+-]{1,200}$/, 'must be 1 to 200 letters, digits or any of _.:@+-');

const attempt = z
  .int()
  .min(1)
  .max(1_000_000)
  .optional()
  .describe('Counts the attempts of the run: 2 for its first rerun. Default: the last one');
const member = z
  .string()
  .regex(/^[\w-]{8,64}$/)
  .describe('A random name of this Playwright process. A shard that starts again has a new one');
const shard = z
  .strictObject({ index: z.int().min(1), total: z.int().min(1).max(1000) })
  .refine(({ index, total }) => index <= total, 'index must be at most total');
const testId = z.string().min(1).max(200).describe("Playwright's id of the test");

/** A test as Playwright names it. */
export const runTest = z.strictObject({
  id: testId,
  project: z.string().max(500),
  file: z.string().max(1000).describe("Relative to the config's rootDir, with forward slashes"),
  title: z.array(z.string().max(2000)).max(50).describe('The titles of the groups and of the test'),
});

export type RunTest = z.output<typeof runTest>;

/** The tests that must run in one shard and in their order, such as those of a serial group. */
const unit = z.array(runTest.extend({ skipped: z.boolean().optional() })).min(1);

const resultStatus = z.enum(['passed', 'failed', 'timedOut', 'skipped', 'interrupted']);

/** A finished test. */
const testResult = z.strictObject({
  test: testId,
  status: resultStatus.describe('Of the last retry'),
  ok: z.boolean().describe('Whether the test ended as expected; true for a flaky test'),
  flaky: z.boolean().optional(),
  retries: z.int().min(0).default(0),
  duration_ms: z.number().min(0).describe('Of all its retries together'),
  error: z.string().max(4000).optional(),
  replay_url: z.string().max(2000).optional(),
  trace: z.string().max(1000).optional().describe('The path of the trace on the machine of the shard'),
});

/** A shard of a run. */
const runShard = z.looseObject({
  index: z.int(),
  workers: z.int().optional().describe('Missing until the shard came'),
  state: z.enum(['expected', 'running', 'ended', 'lost']),
  tests: z.int().describe('The tests of its part, with those that it took over'),
  taken_over: z.int(),
  finished: z.int(),
  failed: z.int(),
  expected_ms: z.number().nullable().describe('The time that its part needs by earlier runs, null without any'),
  started_at: timestamp.optional(),
  ended_at: timestamp.optional(),
});

/** A run of a test suite by one or several shards. */
export const testRun = z.looseObject({
  run: z.string(),
  attempt: z.int(),
  total_shards: z.int(),
  state: z.enum(['running', 'passed', 'failed', 'incomplete']),
  basis: z.enum(['durations', 'count', 'rerun']).describe('How the tests were divided'),
  total: z.int(),
  finished: z.int(),
  failed: z.int(),
  flaky: z.int(),
  skipped: z.int(),
  started_at: timestamp,
  updated_at: timestamp,
  shards: z.array(runShard),
});

export type TestRun = z.output<typeof testRun>;

/** A test of a run with its latest result. */
const runTestResult = z.looseObject({
  ...runTest.shape,
  shard: z.int(),
  status: resultStatus.or(z.enum(['waiting', 'running'])),
  ok: z.boolean().optional(),
  flaky: z.boolean().optional(),
  retries: z.int().optional(),
  duration_ms: z.number().optional(),
  usual_ms: z.number().optional().describe('The median of the last ten runs'),
  flaky_runs: z.int().optional().describe('In how many of the last 30 runs the test was flaky'),
  error: z.string().optional(),
  replay_url: z.string().optional(),
  trace: z.string().optional(),
});

export type RunTestResult = z.output<typeof runTestResult>;

const whichPlan = {
  attempt: queryInteger().min(1).optional().describe('Default: the last one'),
  total_shards: queryInteger().min(1).optional().describe('If commands with several numbers of shards have one run'),
};

/** The operations on runs of test suites. All of them are this service's own. */
export const testRuns = {
  plan: operation(
    'POST /test_runs/{run}/shards',
    "Start a shard: get the tests of its part. The first call of a run divides the tests (this service's own operation)",
    {
      body: z.strictObject({
        attempt: attempt.describe(
          'Counts the attempts of the run: 2 for its first rerun. Leave it out if the CI does not count: then a rerun of a shard begins the next attempt. Without rerun, a shard that starts again keeps its attempt and its tests',
        ),
        member,
        shard,
        workers: z.int().min(1).max(1000),
        units: z.array(unit).max(100_000),
        rerun: z
          .boolean()
          .default(false)
          .describe('Only tests that failed, or have no result, in the last attempt before this one that had them'),
        preview: z.boolean().default(false).describe('Answer without starting the shard'),
      }),
      responses: {
        200: json(
          z.looseObject({
            attempt: z.int(),
            tests: z.array(testId),
            basis: testRun.shape.basis,
            expected_ms: z.number().nullable(),
            heartbeat_ms: z
              .int()
              .describe('The longest time between two reports. After three times that, a shard is lost'),
          }),
        ),
      },
      errors: [409],
      isBulk: true,
      repeatable: true,
    },
  ),
  report: operation(
    'POST /test_runs/{run}/results',
    "Report finished tests, or that the shard goes on or ends (this service's own operation)",
    {
      body: z.strictObject({
        member,
        results: z.array(testResult).max(1000).default([]),
        running: z.array(testId).max(1000).optional(),
        ended: z
          .boolean()
          .default(false)
          .describe('Whether the shard has written its report. Results of a shard that never ends count as none'),
      }),
      responses: { 204: empty },
      // 409: the shard was taken for lost, and other shards have its tests.
      errors: [409],
      repeatable: true,
    },
  ),
  claim: operation(
    'POST /test_runs/{run}/claims',
    "Take over tests of shards that were lost or never came (this service's own operation)",
    {
      body: z.strictObject({
        attempt,
        member: member.describe('Of the pass that will run the tests'),
        shard,
        workers: z.int().min(1).max(1000),
        wait_seconds: z
          .int()
          .min(0)
          .max(60)
          .default(30)
          .describe('The longest wait for tests, or for the end of the run'),
        absent_after_seconds: z
          .int()
          .min(0)
          .max(86_400)
          .default(300)
          .describe('A shard that has not come this long after the first one is taken for absent'),
      }),
      responses: {
        200: json(
          z.looseObject({
            state: z
              .enum(['tests', 'wait', 'complete'])
              .describe('tests: run these; wait: ask again; complete: nothing is left for this shard'),
            tests: z.array(runTest),
          }),
        ),
      },
      errors: [409],
      waits: true,
    },
  ),
  list: operation('GET /test_runs', "List runs, newest first (this service's own operation)", {
    query: pageQuery,
    responses: { 200: list(testRun) },
  }),
  retrieve: operation('GET /test_runs/{run}', "Get a run with its shards (this service's own operation)", {
    query: z.strictObject(whichPlan),
    responses: { 200: json(testRun) },
  }),
  tests: operation('GET /test_runs/{run}/tests', "List the tests of a run (this service's own operation)", {
    query: pageQuery.extend({
      ...whichPlan,
      status: z.enum(['failed', 'flaky', 'waiting', 'running']).optional().describe('failed: also without a result'),
      order: z
        .enum(['suite', 'slowest', 'flakiest'])
        .default('suite')
        .describe('flakiest: most often flaky in the last 30 runs'),
    }),
    responses: { 200: list(runTestResult) },
  }),
};
