import { writeFileSync } from 'node:fs';
import { beside, made, test } from '../held.ts';

test.describe.configure({ mode: 'parallel' });

test('goes on', async ({ page }) => {
  writeFileSync(beside('there'), '');
  await page.waitForTimeout(30_000);
});

test('fails', async () => {
  await made('there');
  throw new Error('thrown on purpose');
});
