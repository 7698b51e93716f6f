import { expect, statusesOf, test } from './suite-runs.ts';

// A machine's clock may change at any time, and a test may install its own clock.

test('timeouts of the fixtures work although a test freezes or moves its clock @long', async ({ runSuite, hosted }) => {
  const result = await runSuite('clocks', hosted.url, { config: 'timeout: 20_000,' });
  expect(statusesOf(result)).toEqual({
    'stands still': 'passed',
    'leaps forward': 'passed',
    'leaps back': 'passed',
  });
});
