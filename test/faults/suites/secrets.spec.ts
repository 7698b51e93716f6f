import { expect, test } from 'playwright-pool';
import { made } from './held.ts';

test('passes', async ({ page, remote: { files, clipboard, computer, session } }) => {
  await page.goto('data:text/html,<input autofocus>');
  await computer.type('x');
  await files.push(Buffer.from('x'), '/tmp/x');
  await clipboard.write('x');
  await session.info();
  console.log('in use');
  await made('done');
});

test.describe(() => {
  test.afterEach(async ({ page }) => {
    await page.context().close();
    await page.title();
  });
  test('fails in an expectation, in a call and in a closed context', async ({ page, remote: { recorder, files } }) => {
    await page.setContent('x');
    await recorder.mark('here');
    await expect.soft(page.locator('p')).toHaveText('y', { timeout: 500 });
    await files.pull('/nowhere', '/tmp/nowhere');
  });
});
