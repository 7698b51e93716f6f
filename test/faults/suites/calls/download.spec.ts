import { readFileSync } from 'node:fs';
import { expect, test } from '../held.ts';

test('works', async ({ page }) => {
  await page.setContent('<a download="x.txt" href="data:text/plain,some text">x</a>');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('x').click()]);
  expect(readFileSync(await download.path(), 'utf8')).toBe('some text');
});
