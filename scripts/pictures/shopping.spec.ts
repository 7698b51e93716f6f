import { systemChromium } from '../../test/support/chromium.ts';
import { expect, test } from '../../examples/todo/tests/todo-list.ts';

test('adds items to the list', async ({ list, session, playwright }) => {
  await list.add('Buy milk', 'Call the plumber', 'Water the plants');

  const browser = await playwright.chromium.launch({ executablePath: await systemChromium() });
  for (const colorScheme of ['light', 'dark'] as const) {
    const viewer = await browser.newPage({ viewport: { width: 800, height: 520 }, colorScheme });
    await viewer.goto(session.liveViewURL!);
    await expect(viewer.getByRole('status')).toHaveText('Live');
    await viewer.screenshot({ path: `${process.env['PICTURES_DIRECTORY']}/live-view-${colorScheme}.png` });
    await viewer.close();
  }
  await browser.close();
});

// Fails, so that its report has a replay.
test('removes a bought item from the list', async ({ list }) => {
  await test.step('write the list', async () => {
    await list.add('Buy milk', 'Call the plumber', 'Water the plants');
  });
  await test.step('buy the milk', async () => {
    await list.checkbox('Buy milk').check();
  });
  await expect(list.checkbox('Buy milk')).toBeHidden({ timeout: 2000 });
});
