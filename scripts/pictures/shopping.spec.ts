import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { systemChromium } from '../../test/support/views/chromium.ts';
import { expect, test } from '../../examples/todo/tests/todo-list.ts';

const cli = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

test('adds items to the list', async ({ list, remote, playwright }) => {
  await list.add('Buy milk', 'Call the plumber', 'Water the plants');

  const browser = await playwright.chromium.launch({ executablePath: await systemChromium() });
  for (const colorScheme of ['light', 'dark'] as const) {
    const viewer = await browser.newPage({ viewport: { width: 800, height: 520 }, colorScheme });
    await viewer.goto(remote.session.liveViewURL!);
    await expect(viewer.getByRole('status')).toHaveText('Live');
    await viewer.screenshot({ path: `${process.env['PICTURES_DIRECTORY']}/live-view-${colorScheme}.png` });
    await viewer.close();
    const dashboard = await browser.newPage({ viewport: { width: 960, height: 600 }, colorScheme });
    await dashboard.goto(execFileSync(process.execPath, [cli, 'dashboard', '--print'], { encoding: 'utf8' }).trim());
    await dashboard.getByRole('link', { name: 'Leases' }).first().click();
    await expect(dashboard.getByText('adds items to the list').first()).toBeVisible();
    await dashboard.screenshot({ path: `${process.env['PICTURES_DIRECTORY']}/dashboard-${colorScheme}.png` });
    await dashboard.close();
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
