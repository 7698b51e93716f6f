import { expect, test } from '../support/runs/fault-runs.ts';

// A machine's clock may change at any time, and a test may install its own clock.

test('timeouts of the fixtures work although a test freezes or moves its clock @long', async ({ run, hosted }) => {
  const suite = `
    import { test, expect } from 'playwright-pool';
    const { now } = Date;
    const hour = 3_600_000;
    test.afterEach(() => (Date.now = now));
    test('stands still', async ({ remote: { files } }) => {
      Date.now = () => 0;
      await expect(expect(files).toHaveFile('/tmp/none', { timeout: 300 })).rejects.toThrow('/tmp/none');
    });
    test.describe(() => {
      test.use({ poolLease: 'test' });
      for (const [title, step] of [['leaps forward', hour], ['leaps back', -hour]]) {
        test(title, async ({ browser }) => {
          let leaps = 0;
          Date.now = () => now() + leaps++ * step;
          await browser.newContext();
          expect(test.info().timeout).toBeGreaterThanOrEqual(20_000);
          expect(test.info().timeout).toBeLessThan(hour);
        });
      }
    });`;
  const { config, env } = hosted.options();
  const { results } = await run({ files: { 'clocks.spec.ts': suite }, config: `${config} timeout: 20_000,`, env });
  const statuses = Object.entries(results).map(([title, [attempt]]) => [title, attempt!.status]);
  expect(Object.fromEntries(statuses)).toEqual({
    'stands still': 'passed',
    'leaps forward': 'passed',
    'leaps back': 'passed',
  });
});
