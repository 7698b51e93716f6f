import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { startService } from '../../../src/service/service.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { callerOf, type Call } from '../../support/service/service.ts';
import { apiKey, test } from './leasing-service.ts';

test.describe.configure({ mode: 'serial' });

/** Connects with `replay=on`, and returns the short link to the replay. */
async function connect(url: string): Promise<{ client: WebSocket; link: string }> {
  const client = new WebSocket(url);
  const [{ rawHeaders }] = (await once(client, 'upgrade')) as [{ rawHeaders: string[] }];
  const attached = rawHeaders.filter((_, index) => rawHeaders[index - 1]?.toLowerCase() === 'x-playwright-attachment');
  expect(attached.map((line) => line.split('=').length)).toEqual([2, 2]);
  const [, link = ''] = attached.find((line) => line.startsWith('replay='))!.split('=');
  return { client, link };
}

const textOf = async (link: string) => (await fetch(link)).text();
const hasVideo = async (link: string) => (await textOf(link)).includes('<video');

async function replaysOf(call: Call): Promise<object[]> {
  return (await call('GET', '/replays')).body;
}

test('replay=on records a lease until its client goes or loses it', async ({ call, urlOf, createPool, counts }) => {
  await createPool('ci', 1);
  for (const end of ['close', 'terminate', 'release', 'delete']) {
    const { client, link } = await connect(urlOf(`/cdp?pool=ci&replay=on&name=${end}`));
    expect(await textOf(link)).toContain('still being recorded');
    const { body } = await call('GET', `/browsers/${end}`);
    const closed = once(client, 'close');
    if (end === 'close') client.close();
    else if (end === 'terminate') client.terminate();
    else if (end === 'delete') await call('DELETE', `/browsers/${body.session_id}`);
    else await call('POST', '/browser_pools/ci/release', { session_id: body.session_id });
    await closed;
    await expect.poll(() => counts('ci')).toEqual({ leased: 0, waiting: 0 });
    await expect.poll(() => hasVideo(link)).toBe(true);
    const [replay] = await replaysOf(call);
    expect(replay).toMatchObject({ title: end, finished_at: expect.any(String) });
    expect(replay).not.toHaveProperty('error_message');
  }
});

test('a lease that can not be recorded is given out, and its attachment says why', async ({}, testInfo) => {
  const dataDirectory = testInfo.outputPath('data');
  await using service = await startService({ apiKey, dataDirectory });
  await callerOf(service)('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  await rm(`${dataDirectory}/replays`, { recursive: true });
  const { client, link } = await connect(`${service.url.replace('http', 'ws')}/cdp?replay=on&token=${apiKey}`);
  expect(link).toContain('not recorded: the video could not be written');
  client.send('{"id":1,"method":"Browser.getVersion"}');
  await once(client, 'message');
  client.close();
});

test('without replay=on nothing is recorded', async ({ call, urlOf, createPool }) => {
  await createPool('ci', 1);
  const before = (await replaysOf(call)).length;
  const browser = await chromium.connectOverCDP(urlOf('/cdp?pool=ci'));
  await browser.close();
  expect(await replaysOf(call)).toHaveLength(before);
});

test('a control plane records leases on its machines', async () => {
  await using service = await startControlPlane(1, { apiKey });
  const call = callerOf(service);
  await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  const { client, link } = await connect(`${service.url.replace('http', 'ws')}/cdp?pool=ci&replay=on&token=${apiKey}`);
  expect(await textOf(link)).toContain('still being recorded');
  client.terminate();
  await expect.poll(() => hasVideo(link), { timeout: 15_000 }).toBe(true);
});
