import { expect, type Page } from '@playwright/test';
import { testTag, testTagOf } from '../../../src/contract/lease-tags.ts';
import type { DashboardEvent, SessionState } from '../../../src/contract/dashboard-events.ts';
import { numberOf, test } from '../../support/views/dashboard.ts';

const acquire = { acquire_timeout_seconds: 30 };
const withTags = (title: string) => ({ tags: { [testTag]: testTagOf(title) } });
const withTest = (title: string) => ({ ...acquire, ...withTags(title) });

test('shows leases, changes a pool, finds tests and ends sessions', async ({ page, client, signIn }) => {
  const titles = page.locator('td .title');
  await client.browserPools.create({ name: 'ci', size: 3 });
  const ids: string[] = [];
  for (const title of ['order 3', 'order 30', 'order 27, part 3'])
    ids.push((await client.browserPools.acquire('ci', withTest(title)))!.session_id);
  const waiting = client.browserPools.acquire('ci', acquire);
  await signIn();
  await expect(numberOf(page, 'Leased')).toHaveText('3');
  await expect(numberOf(page, 'Waiting')).toHaveText('1');
  await page.getByRole('region', { name: 'Why tests wait' }).getByRole('link', { name: 'ci' }).click();
  await expect(page.getByText('1 waiting, 3 leased')).toBeVisible();

  await page.getByRole('button', { name: 'Resize…' }).click();
  await page.getByLabel('Browsers').fill('4');
  await page.getByRole('button', { name: 'Resize', exact: true }).click();
  await expect(page.getByText('Size changed to 4')).toBeVisible();
  const { session_id } = (await waiting)!;
  await expect(page.getByText('1 waiting')).toHaveCount(0);
  await client.browserPools.release('ci', { session_id });
  await expect.poll(async () => (await client.browserPools.retrieve('ci')).available_count).toBe(1);

  await page.getByRole('button', { name: 'Flush…' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Flush…' }).click();
  await page.getByRole('button', { name: 'Flush', exact: true }).click();
  await expect(page.getByText('Pool flushed')).toBeVisible();

  await page.goto(page.url().replace(/#.*/, '#leases?q=order+3'));
  await expect(titles).toHaveText(['order 3', 'order 30', 'order 27, part 3']);
  const chosen = page.getByRole('dialog').getByRole('option', { selected: true });
  await page.keyboard.press('Control+k');
  await page.keyboard.type('order 3');
  await expect(chosen).toHaveAccessibleName('Test order 3 running');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('27');
  await expect(chosen).toContainText('order 27, part 3');
  await page.keyboard.press('Enter');
  const details = page.getByRole('dialog', { name: 'order 27, part 3' });
  await expect(details).toContainText(ids[2]!);
  await details.getByRole('button', { name: 'End session…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
  const ended = page.getByRole('row', { name: 'order 27, part 3' });
  await expect(ended).toContainText('Deleted');
  const running = page.getByRole('row', { name: 'order 30' });
  await expect(running).toContainText('Running');

  await page.getByLabel('Filter by').fill('order 30');
  await expect(ended).toHaveCount(0);
  await expect(page).toHaveURL(/#leases\?(.*&)?q=order\+30/);
  await page.reload();
  await expect(running).toBeVisible();
  await expect(ended).toHaveCount(0);

  await client.browsers.update(ids[1]!, withTags('runs now'));
  await expect(titles).toHaveText(['runs now']);
  await client.browserPools.release('ci', { session_id: ids[1]! });
  await expect(page.getByRole('row', { name: 'runs now' })).toContainText('Returned');
  await client.browserPools.acquire('ci', withTest('another lease'));
  await expect(titles).toHaveText(['runs now']);
});

test('shows live pictures of pages, and names with markup as text', async ({ page, client, signIn, playwright }) => {
  await page.addInitScript(() => Object.assign(globalThis, { ran: false }));
  const hostile = `<img src=x onerror="ran=true"><script>ran=true</script>${'W'.repeat(80)}‮\u0000`;
  const name = 'W'.repeat(255);
  await client.browserPools.create({ name, size: 1 });
  const session = (await client.browserPools.acquire(name, withTest(hostile)))!;
  void client.browserPools.acquire(name, { acquire_timeout_seconds: 20 }).catch(() => {});
  await using browser = await playwright.chromium.connectOverCDP(session.cdp_ws_url);
  const painted = await browser.contexts()[0]!.newPage();
  await painted.goto('data:text/html,<body style="background: lime">');
  await page.setViewportSize({ width: 390, height: 780 });
  await signIn();
  for (const view of ['Now', 'Leases', 'Machines', 'Pools', 'Wall']) {
    await page.getByRole('navigation').getByRole('link', { name: view }).click();
    await expect(page.getByRole('heading', { level: 1, name: view })).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    if (view === 'Leases') await expect(page.getByText('<img src=x onerror=').first()).toBeVisible();
  }
  await expect.poll(() => colourOf(page)).toBe('0,255,0');
  await painted.evaluate(() => (document.body.style.background = 'blue'));
  await expect.poll(() => colourOf(page)).toBe('0,0,255');
  const opened = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Live view of <img' }).click();
  await expect((await opened).getByRole('status')).toHaveText('Live');

  await page.getByRole('link', { name: 'Leases', exact: true }).first().click();
  await page.getByText('<img src=x onerror=').first().click();
  await expect(page.getByRole('dialog')).toContainText('<script>');
  expect(await page.evaluate(() => (globalThis as unknown as { ran: boolean }).ran)).toBe(false);
});

test('scrolls and filters 500 leases, but has few rows in the page at a time', async ({ page, signIn }) => {
  const snapshot = { contentType: 'text/event-stream', body: `data: ${JSON.stringify(crowd())}\n\n` };
  await page.route('**/dashboard/events', (route) =>
    route.request().method() === 'GET' ? route.fulfill(snapshot) : route.continue(),
  );
  await signIn({ hash: '#leases' });
  await expect(page.getByText('500 leases')).toBeVisible();
  await page.getByRole('region', { name: 'Leases' }).hover();
  for (let turn = 0; turn < 5; turn++) await page.mouse.wheel(0, 6000);
  await expect(page.getByText('test number 499')).toBeVisible();
  expect(await page.getByRole('row').count()).toBeLessThan(60);
  await page.getByLabel('Filter by').fill('number 42');
  await expect(page.getByText('15 leases')).toBeVisible();
  await page.getByRole('button', { name: 'Leased for' }).click();
  await page.getByRole('button', { name: 'Leased for' }).click();
});

/** The colour in the middle of the first picture of the wall. */
async function colourOf(page: Page): Promise<string | undefined> {
  const picture = page.locator('.thumbnail img').first();
  if ((await picture.count()) === 0) return undefined;
  return await picture.evaluate(async (image: HTMLImageElement) => {
    try {
      await image.decode();
    } catch {
      // The next picture has come meanwhile.
      return undefined;
    }
    const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
    const context = canvas.getContext('2d')!;
    context.drawImage(image, image.naturalWidth / 2, image.naturalHeight / 2, 1, 1, 0, 0, 1, 1);
    // JPEG isn't exact.
    return Array.from(context.getImageData(0, 0, 1, 1).data.slice(0, 3), (value) => (value > 127 ? 255 : 0)).join(',');
  });
}

function crowd(): DashboardEvent {
  const now = Date.now();
  const sessions = Array.from({ length: 500 }, (_, index): SessionState => ({
    id: `session-${index}`,
    state: 'leased',
    project_id: 'project',
    pool: { id: 'pool', name: 'ci' },
    created_at: now - index * 1000,
    leased_at: now - index * 1000,
    test: `test number ${index}`,
    file: `tests/file-${index % 40}.spec.ts`,
    worker: String(index % 16),
  }));
  const projects = [{ id: 'project', name: 'default' }];
  return {
    type: 'snapshot',
    now,
    service: { version: '0.1.0', key: 'service', projects, is_control_plane: false, draining: false },
    counts: { leased: 500, starting: 0, waiting: 0, free: 0, draining: 0 },
    machines: [],
    pools: [],
    sessions,
    ended: [],
    history: [],
  };
}
