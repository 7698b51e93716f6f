import { once } from 'node:events';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { startService, type Service } from '../../../src/service/service.ts';
import { TestClock } from '../../support/service/clock.ts';
import { TunneledApp } from '../../support/http/tunneled-app.ts';
import { withCall } from '../../support/service/plane.ts';
import type { Call } from '../../support/service/service.ts';
import { test } from '../../support/worker.ts';
import { version } from '../connect/leasing-service.ts';

test.describe.configure({ mode: 'default' });

/** The keys of the control plane and of its machine. */
const apiKey = 'key-of-the-clients';
const machinesKey = 'key-of-the-machines';
const headers = { authorization: `Bearer ${apiKey}` };
const agent = `Playwright/${version} (x64; debian 12) node/20.20`;

for (const { path, connect } of [
  { path: '/playwright', connect: (url: string, options = {}) => chromium.connect(url, options) },
  { path: '/cdp', connect: (url: string, options = {}) => chromium.connectOverCDP(url, options) },
]) {
  test(`a client of ${path} that a control plane redirects keeps its browser when the control plane restarts${path === '/cdp' ? ' @long' : ''}`, async ({}, testInfo) => {
    await using app = await TunneledApp.start();
    await using machine = await startService({ apiKey: machinesKey });
    const options = optionsOf(machine, testInfo.outputPath('control'));
    const first = await startPlane(options);
    const isFar = path === '/playwright';
    const browser = await connect(`${wsOf(first)}${path}?pool=ci`, {
      headers: { ...headers, 'x-playwright-launch-options': JSON.stringify({ args: ['--lang=de'] }) },
      ...(isFar && { exposeNetwork: '<loopback>' }),
    });
    const page = await browser.newPage();
    await page.goto(app.url);
    await page.evaluate(() => (document.title = 'before'));
    const { body: before } = await withCall(first).call('GET', '/browsers');
    expect(before).toMatchObject([{ pool: { name: 'ci' }, launch_options: { args: ['--lang=de'] } }]);
    await first.close();
    const logged: string[] = [];
    await using second = await startService({ ...options, log: (event) => void logged.push(event) });
    const { call } = withCall(second);
    await expect(page).toHaveTitle('before');
    expect((await call('GET', '/browsers')).body).toMatchObject([{ launch_options: { args: ['--lang=de'] } }]);
    expect(await countsOf(call)).toEqual([1, 0]);
    await page.goto(`${app.url}/after`);
    await browser.close();
    await expect.poll(() => countsOf(call)).toEqual([0, 1]);
    const id = (before as { session_id: string }[])[0]!.session_id;
    const { body: ended } = await call('GET', `/browsers/${id}?include_deleted=true`);
    expect(ended.end_reason).toBe('client_left');
    expect(logged).toContain('lease_ended');
  });
}

test('the redirect has no API key, and the machine ends the lease of a client that is killed or does not come', async () => {
  const clock = new TestClock();
  await using machine = await startService({ apiKey: machinesKey, clock });
  await using service = await startPlane(optionsOf(machine));
  const { call } = withCall(service);
  const answer = await redirectOf(service, `/cdp?pool=ci&token=${apiKey}`);
  expect(answer.location).toContain(`${wsOf(machine)}/browser/cdp?jwt=`);
  expect(JSON.stringify(answer)).not.toMatch(/key-of-the/);
  expect(await countsOf(call)).toEqual([1, 0]);
  clock.advance(15_000);
  await expect.poll(() => countsOf(call)).toEqual([0, 1]);

  const client = new WebSocket(`${wsOf(service)}/playwright?pool=ci`, {
    headers: { ...headers, 'user-agent': agent },
    followRedirects: true,
  });
  const opened = once(client, 'open');
  const [{ rawHeaders }] = (await once(client, 'upgrade')) as [{ rawHeaders: string[] }];
  expect(rawHeaders.join('\n')).toContain(`x-playwright-attachment\nlive view=${service.url}/browser/live/`);
  await opened;
  // The client has come, so the machine waits no longer.
  clock.advance(15_000);
  expect(await countsOf(call)).toEqual([1, 0]);
  client.terminate();
  await expect.poll(() => countsOf(call)).toEqual([0, 1]);
  const metrics = await (await fetch(`${service.url}/metrics`, { headers })).text();
  expect(metrics).toMatch(/lease_ends_total\{[^}]*reason="recycled"[^}]*\} 2\n/);
});

test('a control plane serves clients itself that follow no redirects, or whose lease needs it', async () => {
  await using machine = await startService({ apiKey: machinesKey });
  await using service = await startPlane(optionsOf(machine));
  const { call } = withCall(service);
  for (const [query, userAgent] of [
    ['', 'Puppeteer 24'],
    ['&release=reuse', agent],
    ['&replay=on', agent],
  ]) {
    const client = new WebSocket(`${wsOf(service)}/cdp?pool=ci${query}`, {
      headers: { ...headers, 'user-agent': userAgent },
    });
    await once(client, 'open');
    client.terminate();
    await expect.poll(() => countsOf(call)).toEqual([0, 1]);
  }
  const wrong = new WebSocket(`${wsOf(service)}/playwright?pool=ci`, {
    headers: { ...headers, 'user-agent': 'Playwright/1.2.3' },
  });
  const [, refusal] = (await once(wrong, 'unexpected-response')) as [unknown, { statusCode: number }];
  expect(refusal.statusCode).toBe(428);
});

function optionsOf(machine: Service, dataDirectory?: string) {
  const machines = { from: machine.url, apiKey: machinesKey, directSessions: true };
  return { apiKey, machines, ...(dataDirectory !== undefined && { dataDirectory }) };
}

/** A control plane with the pool `ci`. */
async function startPlane(options: ReturnType<typeof optionsOf>): Promise<Service> {
  const service = await startService(options);
  const { status } = await withCall(service).call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  expect(status).toBe(201);
  return service;
}

async function redirectOf(service: Service, path: string): Promise<{ location?: string }> {
  const client = new WebSocket(`${wsOf(service)}${path}`, { headers: { 'user-agent': agent } });
  const [, answer] = await once(client, 'unexpected-response');
  const { statusCode, headers: answered } = answer as { statusCode: number; headers: { location?: string } };
  expect(statusCode).toBe(307);
  return answered;
}

function wsOf({ url }: Service): string {
  return url.replace('http', 'ws');
}

/** The leased and the idle browsers of the pool. */
async function countsOf(call: Call): Promise<number[]> {
  const { body } = await call('GET', '/browser_pools/ci');
  return [body.acquired_count, body.available_count];
}
