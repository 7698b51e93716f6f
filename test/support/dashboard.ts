import { expect, type Page } from '@playwright/test';
import type { DashboardEvent } from '../../src/service/dashboard/dashboard-state.ts';
import { createClient, type Client } from '../../src/client/index.ts';
import { systemChromium } from './chromium.ts';
import { test as base } from './service.ts';

type Fixtures = {
  client: Client;
  /** Opens the dashboard in the page, and signs in. Default: with the service's key. */
  signIn: (options?: { key?: string; hash?: string }) => Promise<void>;
};

/** A service and its dashboard in a real browser. */
export const test = base.extend<Fixtures>({
  launchOptions: [async ({}, use) => use({ executablePath: await systemChromium() }), { scope: 'worker' }],
  client: async ({ service }, use) => {
    await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
    await use(client);
  },
  signIn: async ({ page, service }, use) => {
    const failures: string[] = [];
    page.on('pageerror', (error) => failures.push(error.message));
    await use(async ({ key = service.apiKey, hash = '' } = {}) => {
      await page.goto(`${service.url}/${hash}`);
      await page.getByLabel('API key').fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await expect(page.getByRole('status').first()).toHaveText('Live');
    });
    expect(failures).toEqual([]);
  },
});

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
