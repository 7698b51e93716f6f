import { expect, statusesOf, test } from './suite-runs.ts';

// A dead or frozen browser fails its own test only.

test('gives the worker a new browser if Chromium is killed or frozen, also between tests', async ({
  runSuite,
  hosted,
}) => {
  const result = await runSuite('browsers', hosted.url, { size: 2 });
  expect(statusesOf(result)).toEqual({
    killed: 'failed',
    stopped: 'timedOut',
    'stops its own at its end': 'passed',
    'killed while it opens a page': 'passed',
    'opens another': 'passed',
    'freezes it without a page': 'passed',
    works: 'passed',
  });
  expect(result.output).toMatch(
    /infrastructure: 2 attempts had no working browser:\n {2}2 × the browser was lost during the test\n/,
  );
  expect(result.output).toContain('leases: 6 acquired, 6 released, 0 leaked');
});
