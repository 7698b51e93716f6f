import { expect, test } from 'playwright-pool';

const { now } = Date;
const hour = 3_600_000;
test.afterEach(() => {
  Date.now = now;
});

test('stands still', async ({ remote: { files } }) => {
  Date.now = () => 0;
  await expect(expect(files).toHaveFile('/tmp/none', { timeout: 300 })).rejects.toThrow('/tmp/none');
});

test.describe(() => {
  test.use({ poolLease: 'test' });
  for (const [title, step] of [
    ['leaps forward', hour],
    ['leaps back', -hour],
  ] as const) {
    test(title, async ({ browser }) => {
      let leaps = 0;
      Date.now = () => now() + leaps++ * step;
      await browser.newContext();
      expect(test.info().timeout).toBeGreaterThanOrEqual(20_000);
      expect(test.info().timeout).toBeLessThan(hour);
    });
  }
});
