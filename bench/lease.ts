import { setTimeout } from 'node:timers/promises';
import { chromium, type Browser } from '@playwright/test';
import type { Client } from 'playwright-pool/client';

/** The time from the acquire to the first page, in milliseconds. Then the pool replaces the browser. */
export async function timeLease(
  client: Client,
  { pool, size, url }: { pool: string; size: number; url: string },
): Promise<number> {
  const started = performance.now();
  const session = (await client.browserPools.acquire(pool, {}))!;
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  await openPage(browser, url);
  const took = performance.now() - started;
  await client.browserPools.release(pool, { session_id: session.session_id, reuse: false });
  await browser.close();
  await full(client, pool, size);
  return took;
}

export async function openPage(browser: Browser, url: string): Promise<void> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(url);
}

/** Waits until `size` browsers of the pool are idle. */
export async function full(client: Client, pool: string, size: number): Promise<void> {
  const signal = AbortSignal.timeout(30_000);
  while ((await client.browserPools.retrieve(pool, { signal })).available_count < size) await setTimeout(5);
}
