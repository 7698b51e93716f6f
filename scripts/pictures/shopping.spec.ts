import { systemChromium } from '../../test/support/chromium.ts';
import { expect, test } from '../../examples/todo/tests/todo-list.ts';

// Fails, for the picture of a report with a replay.
test('what is bought disappears from the list', async ({ list, session, playwright }) => {
  await test.step('write the list', async () => {
    await list.add('Buy milk', 'Call the plumber', 'Water the plants');
  });

  const browser = await playwright.chromium.launch({ executablePath: await systemChromium() });
  const viewer = await browser.newPage({ viewport: { width: 960, height: 600 } });
  await viewer.goto(session.liveViewURL!);
  await expect(viewer.getByRole('status')).toHaveText('Live');
  await viewer.screenshot({ path: process.env['LIVE_VIEW_PICTURE']! });
  await browser.close();

  await test.step('buy the milk', async () => {
    await list.checkbox('Buy milk').check();
  });
  await expect(list.checkbox('Buy milk')).toBeHidden({ timeout: 2000 });
});
