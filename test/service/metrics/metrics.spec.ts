import { execFile } from 'node:child_process';
import { chromium, expect } from '@playwright/test';
import { TestClock } from '../../support/service/clock.ts';
import { scrape, seriesOf, type Series } from '../../support/http/scrape.ts';
import { startTestService, test, type TestService } from '../../support/service/service.ts';

const ofCi = 'project="default",pool="ci",engine="chromium"';

const clock = new TestClock();
test.use({ serviceOptions: { clock, metricsToken: 'scraper', maxConcurrentSessions: 3 } });

test('/metrics counts sessions, waits, connections, lease ends, also of deleted pools', async ({ service, call }) => {
  await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.available_count).toBe(1);
  await expectSeries(service, {
    playwright_pool_demand: 0,
    playwright_pool_capacity: 3,
    playwright_pool_draining: 0,
    playwright_pool_single_sessions: 0,
    [`playwright_pool_size{${ofCi}}`]: 1,
    [`playwright_pool_sessions{${ofCi},state="idle"}`]: 1,
    [`playwright_pool_sessions{${ofCi},state="leased"}`]: 0,
  });

  const lease = async () => (await call('POST', '/browser_pools/ci/acquire', {})).body;
  const release = async ({ session_id }: { session_id: string }, reuse: boolean) =>
    await call('POST', '/browser_pools/ci/release', { session_id, reuse });
  const leased = await lease();
  const hangUp = new AbortController();
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const { signal } = hangUp;
  fetch(`${service.url}/browser_pools/ci/acquire`, { method: 'POST', headers, signal }).catch(() => {});
  await call('POST', '/browsers', { headless: true });
  await expectSeries(service, {
    playwright_pool_demand: 3,
    playwright_pool_single_sessions: 1,
    [`playwright_pool_waiting{${ofCi}}`]: 1,
    [`playwright_pool_sessions{${ofCi},state="leased"}`]: 1,
    [`playwright_pool_acquires_total{${ofCi},outcome="leased"}`]: 1,
    [`playwright_pool_acquire_seconds_count{${ofCi}}`]: 1,
  });
  const oldestWait = async () => (await scrape(service))[`playwright_pool_oldest_wait_seconds{${ofCi}}`];
  const before = await oldestWait();
  clock.advance(1000);
  expect(await oldestWait()).toBeGreaterThan(before ?? -1);

  hangUp.abort();
  await expectSeries(service, {
    [`playwright_pool_waiting{${ofCi}}`]: 0,
    [`playwright_pool_acquires_total{${ofCi},outcome="left"}`]: 1,
  });
  await release(leased, true);
  await expectSeries(service, {
    playwright_pool_demand: 1,
    [`playwright_pool_lease_ends_total{${ofCi},reason="reused"}`]: 1,
    [`playwright_pool_reset_seconds_count{${ofCi}}`]: 1,
    [`playwright_pool_reset_seconds_sum{${ofCi}}`]: 0,
  });

  const recycled = await lease();
  await call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 0 });
  const browser = await chromium.connectOverCDP(recycled.cdp_ws_url);
  await browser.close();
  await release(recycled, false);
  const deleted = await lease();
  await call('DELETE', `/browsers/${deleted.session_id}`);
  await lease();
  await call('DELETE', '/browser_pools/ci', { force: true });
  const counts = {
    'playwright_pool_connect_seconds_count{transport="cdp"}': 1,
    [`playwright_pool_acquires_total{${ofCi},outcome="timeout"}`]: 1,
    [`playwright_pool_acquire_seconds_count{${ofCi}}`]: 4,
    [`playwright_pool_lease_ends_total{${ofCi},reason="recycled"}`]: 1,
    [`playwright_pool_lease_ends_total{${ofCi},reason="deleted"}`]: 1,
    [`playwright_pool_lease_ends_total{${ofCi},reason="pool_deleted"}`]: 1,
    [`playwright_pool_reset_seconds_count{${ofCi}}`]: 3,
    'playwright_pool_tunnel_bytes_total{direction="received"}': 0,
  };
  await expectSeries(service, counts);
  // A deleted pool has no gauges.
  expect(await scrape(service)).not.toHaveProperty([`playwright_pool_size{${ofCi}}`]);

  await call('POST', '/browser_pools', { name: 'other-pool', size: 1 });
  await call('POST', '/browser_pools/other-pool/acquire', {});
  const other = 'project="default",pool="other-pool",engine';
  const ofOther = { [`playwright_pool_acquires_total{${other}="chromium",outcome="leased"}`]: 1 };
  expect(await scrape(service)).toMatchObject({ ...counts, ...ofOther });
  clock.advance(9 * 60_000);
  expect(await scrape(service)).toMatchObject({ ...counts, ...ofOther });
  clock.advance(60_000);
  const left = await scrape(service);
  expect(Object.keys(left).filter((name) => name.includes(ofCi))).toEqual([]);
  expect(left).toMatchObject(ofOther);
  await call('POST', '/browser_pools', { name: 'other-pool', size: 2, engine: 'webkit' });
  const sizes = { [`playwright_pool_size{${other}="chromium"}`]: 1, [`playwright_pool_size{${other}="webkit"}`]: 2 };
  expect(await scrape(service)).toMatchObject(sizes);
});

test('/metrics needs a token or a key, and has no session id and at most 100 pool labels', async () => {
  await using service = await startTestService({ metricsToken: 'scraper', maxConcurrentSessions: 1 });
  const { call, url } = service;
  const project = (await call('POST', '/org/projects', { name: 'other' })).body;
  const { key } = (await call('POST', '/org/api_keys', { name: 'ci', project_id: project.id })).body;
  for (const [token, status] of Object.entries({ scraper: 200, [service.apiKey]: 200, scrapes: 401, [key]: 403 })) {
    const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status, token).toBe(status);
  }
  expect((await fetch(`${url}/metrics`)).status).toBe(401);
  // The token is good for nothing else.
  expect((await call('GET', '/browser_pools', undefined, { authorization: 'Bearer scraper' })).status).toBe(401);
  for (let n = 0; n < 103; n++) {
    const { status } = await call('POST', '/browser_pools', { name: `pool-${n}`, size: 1, headless: true });
    expect(status).toBe(201);
  }
  const session = (await call('POST', '/browser_pools/pool-0/acquire', {})).body;
  const response = await fetch(`${service.url}/metrics`, { headers: { authorization: 'Bearer scraper' } });
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const text = await response.text();
  expect(text).not.toContain(session.session_id);
  const sizes = Object.entries(seriesOf(text)).filter(([name]) => name.startsWith('playwright_pool_size{'));
  expect(sizes).toHaveLength(101);
  expect(sizes.find(([name]) => name.includes('pool="other"'))?.[1]).toBe(3);
  await expectAcceptedByPromtool(text);
});

async function expectSeries(service: TestService, expected: Series): Promise<void> {
  await expect.poll(() => scrape(service), { timeout: 20_000 }).toMatchObject(expected);
}

/** Prometheus' own check, where it is installed. */
async function expectAcceptedByPromtool(text: string): Promise<void> {
  const problems = await new Promise<string>((resolve) => {
    const promtool = execFile('promtool', ['check', 'metrics'], (error, stdout, stderr) =>
      resolve(error?.code === 'ENOENT' ? '' : stdout + stderr),
    );
    promtool.stdin?.on('error', () => {});
    promtool.stdin?.end(text);
  });
  expect(problems).toBe('');
}
