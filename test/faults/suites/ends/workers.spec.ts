import { test } from '../held.ts';

test.describe.configure({ mode: 'parallel' });

const bodies = {
  killed: () => process.kill(process.pid, 'SIGKILL'),
  exits: () => process.exit(3),
  throws: () =>
    setImmediate(() => {
      throw new Error('thrown by nobody');
    }),
  passes: () => {},
};
for (const [title, body] of Object.entries(bodies))
  test(title, async ({ page }) => {
    body();
    await page.waitForTimeout(200);
    await page.evaluate('1');
  });
