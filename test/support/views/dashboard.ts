import { expect, type Page } from '@playwright/test';
import type { DashboardEvent } from '../../../src/contract/dashboard-events.ts';
import { test as base } from '../service/service.ts';

type Fixtures = {
  /** Opens the dashboard in the page, and signs in. Default: with the service's key. */
  signIn: (options?: { key?: string; hash?: string }) => Promise<void>;
  /** Signs in, by default with the organization's key, and opens a view. The view may complain of nothing. */
  open: (view: string, key?: string) => Promise<Page>;
};

/** A service and its dashboard in a real browser. */
export const test = base.extend<Fixtures>({
  signIn: async ({ page, service }, use) => {
    const failures: string[] = [];
    page.on('pageerror', (error) => failures.push(error.message));
    await use(async ({ key = service.apiKey, hash = '' } = {}) => {
      await signInTo(page, { url: service.url, apiKey: key }, hash);
    });
    expect(failures).toEqual([]);
  },
  open: async ({ page, signIn }, use) => {
    const complaints: string[] = [];
    page.on('dialog', (dialog) => complaints.push(dialog.message()));
    page.on('console', (message) => {
      // Chromium reports each refused request.
      if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
    });
    await use(async (view, key) => {
      await signIn({ hash: `#${view}`, ...(key !== undefined && { key }) });
      return page;
    });
    expect(complaints).toEqual([]);
  },
});

/** Opens the dashboard of a service, and signs in. */
export async function signInTo(page: Page, { url, apiKey }: { url: string; apiKey: string }, hash = ''): Promise<void> {
  await page.goto(`${url}/${hash}`);
  await page.getByLabel('API key').fill(apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('status').first()).toHaveText('Live');
}

const apps = ['apps', 'apps?tab=deployments', 'apps?tab=invocations'];
/** The views with lists of stored things. */
export const lists = ['runs', 'replays', 'profiles', 'logins', ...apps, 'audit', 'keys'];

/** Text that breaks a view if it becomes HTML or doesn't wrap. */
export const hostile = `<img src=x onerror="alert('ran')">'"&</script>\u202E${'W'.repeat(150)}`;

/** The rows of a view's table. */
export function rowsOf(page: Page) {
  return page.getByRole('row').filter({ has: page.getByRole('cell') });
}

/** Fails if a view is wider than the window, on a desk and on a phone. Leaves the phone's size. */
export async function expectNoOverflow(page: Page): Promise<void> {
  for (const viewport of [
    { width: 1280, height: 800 },
    { width: 390, height: 780 },
  ]) {
    await page.setViewportSize(viewport);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width);
    await expect.poll(() => page.evaluate(wideBoxes), `${viewport.width} px`).toEqual([]);
  }
}

/** Finds boxes that scroll sideways: they would hide an overflow of their content. Runs in the page. */
function wideBoxes(): string[] {
  return Array.from(document.querySelectorAll('#main, .table, dialog[open], dialog[open] .content'))
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(({ className, tagName }) => `${tagName} ${className}`);
}

/** The big number with this name. */
export function numberOf(page: Page, name: string) {
  return page.locator('.numbers > div').filter({ hasText: name }).locator('dd').first();
}

/** The cookie of a new sign-in, for requests without a browser. */
export async function cookieOf(url: string, apiKey: string): Promise<string> {
  const response = await fetch(`${url}/dashboard/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url, 'x-playwright-pool-dashboard': '1' },
    body: JSON.stringify({ api_key: apiKey }),
  });
  expect(response.status).toBe(204);
  return response.headers.get('set-cookie')!.split(';')[0]!;
}

/** The events of a listener with a key, until `enough` says so. */
export async function eventsUntil(
  url: string,
  apiKey: string,
  enough: (events: DashboardEvent[]) => boolean,
): Promise<DashboardEvent[]> {
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${apiKey}` };
  const response = await fetch(`${url}/dashboard/events`, { headers, signal: stop.signal });
  const events: DashboardEvent[] = [];
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = text.split('\n');
    text = lines.pop()!;
    for (const line of lines) if (line.startsWith('data: ')) events.push(JSON.parse(line.slice(6)) as DashboardEvent);
    if (enough(events)) break;
  }
  stop.abort();
  return events;
}
