import { once } from 'node:events';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { startService, type Service } from '../../../src/service/service.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { apiKey, withCall } from '../../support/service/plane.ts';
import type { Call } from '../../support/service/service.ts';
import { test } from '../../support/worker.ts';

test.describe.configure({ mode: 'default' });

const pool = { name: 'ci', size: 1, headless: true };

async function connect({ url }: Pick<Service, 'url'>, query = ''): Promise<WebSocket> {
  const client = new WebSocket(`${url.replace('http', 'ws')}/cdp?pool=ci&token=${apiKey}${query}`);
  await once(client, 'open');
  return client.on('error', () => {});
}

for (const fault of ['ends', 'is cut off @long']) {
  test(`a lease by URL ends with its machine, and leaves nothing: the machine ${fault}`, async () => {
    await using machine = await startService({ apiKey });
    await using way = await FaultProxy.start(machine.url);
    await using spare = await startService({ apiKey });
    const logged: string[] = [];
    await using service = await startService({
      apiKey,
      machines: { from: [way.url, spare.url] },
      log: (event) => void logged.push(event),
    });
    const { call } = withCall(service);
    await call('POST', '/browser_pools', { ...pool, size: 2 });
    const clients = await Promise.all([connect(service, '&replay=on'), connect(service, '&replay=on')]);
    const { body: sessions } = await call('GET', '/browsers');
    expect(sessions).toHaveLength(2);
    const lost = (sessions as { machine: string; session_id: string }[]).find(({ machine: url }) => url === way.url)!;
    const closed = Promise.race(clients.map((client) => once(client, 'close')));
    if (fault === 'ends') await machine.close();
    else way.cut();
    await closed;
    const ended = async () => (await call('GET', `/browsers/${lost.session_id}?include_deleted=true`)).body;
    await expect.poll(async () => (await ended()).end_reason, { timeout: 30_000 }).toBe('machine_lost');
    if (fault !== 'ends') expect(logged).toContain('machine_lost');
    // The other client keeps its browser, and the pool has another one on the other machine.
    await expect.poll(() => countsOf(call), { timeout: 15_000 }).toEqual([1, 1]);
    const replays = async () => (await call('GET', `/browsers/${lost.session_id}/replays`)).body;
    await expect.poll(replays).toMatchObject([{ finished_at: expect.any(String), error_message: expect.any(String) }]);
    for (const client of clients) client.terminate();
    await expect.poll(() => countsOf(call)).toEqual([0, 2]);
    if (fault === 'ends') return;
    way.mend();
    const left = async () => (await withCall(machine).call('GET', '/browsers')).body as { session_id: string }[];
    await expect
      .poll(async () => (await left()).map(({ session_id: id }) => id), { timeout: 30_000 })
      .not.toContain(lost.session_id);
  });
}

for (const release of ['recycle', 'reuse']) {
  test(`a restarted control plane ends the leases of its former clients, with release=${release}${release === 'reuse' ? ' @long' : ''}`, async ({}, testInfo) => {
    await using machine = await startService({ apiKey });
    const logged: string[] = [];
    const log = (event: string) => void logged.push(event);
    const options = { apiKey, dataDirectory: testInfo.outputPath('control'), machines: { from: machine.url }, log };
    const first = await startService(options);
    await withCall(first).call('POST', '/browser_pools', pool);
    const client = await connect(first, `&release=${release}`);
    const { body: before } = await withCall(first).call('GET', '/browsers');
    const closed = once(client, 'close');
    await first.close();
    await closed;

    await using second = await startService(options);
    const { call } = withCall(second);
    await expect.poll(() => countsOf(call)).toEqual([0, 1]);
    const { body: after } = await withCall(machine).call('GET', '/browsers');
    expect(after).toHaveLength(1);
    expect(after[0].session_id).not.toBe(before[0].session_id);
    expect(logged.filter((event) => event === 'lease_ended')).toHaveLength(1);
    (await connect(second)).close();
  });
}

/** The leased and the idle browsers of the pool. */
async function countsOf(call: Call): Promise<number[]> {
  const { body } = await call('GET', '/browser_pools/ci');
  return [body.acquired_count, body.available_count];
}
