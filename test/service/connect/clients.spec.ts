import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { runTag } from '../../../src/contract/lease-tags.ts';
import { startService, type Service } from '../../../src/service/service.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { randomOf } from '../../support/processes/random.ts';
import { refusalOf } from '../../support/http/refusal.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { callerOf } from '../../support/service/service.ts';
import { lastHours } from '../audit/audit-records.ts';
import { test } from '../../support/worker.ts';

const apiKey = 'the-key';
const headers = { authorization: `Bearer ${apiKey}` };

test('killed clients leave no lease, and no place in the queue', async () => {
  await using service = await startService({ apiKey });
  const counts = await poolOf(service, 1);
  const url = `${socketUrl(service)}/cdp?pool=ci`;
  const holder = startClient(url);
  await expect.poll(counts).toMatchObject({ leased: 1, waiting: 0 });
  const waiting = startClient(url);
  await expect.poll(counts).toMatchObject({ leased: 1, waiting: 1 });
  await kill(waiting);
  await expect.poll(counts).toMatchObject({ leased: 1, waiting: 0 });
  await kill(holder);
  await expect.poll(counts).toMatchObject({ leased: 0, waiting: 0 });
});

test('clients that are killed at any moment leave no lease', async () => {
  test.setTimeout(1_200_000);
  await using service = await startService({ apiKey });
  const size = isLong ? 4 : 2;
  const counts = await poolOf(service, size);
  const random = randomOf(47);
  let left = (isLong ? 2000 : 16) / 2;
  const outcomes = { open: 0, waiting: 0 };
  // Each client connects twice. Its first connection ends well, and in the second one it is killed.
  const runClients = async () => {
    while ((left -= 1) >= 0) {
      const release = random(4) === 0 ? 'recycle' : 'reuse';
      const client = startClient(`${socketUrl(service)}/cdp?pool=ci&release=${release}`, 2);
      const lines = createInterface(client.stdout!)[Symbol.asyncIterator]();
      expect([(await lines.next()).value, (await lines.next()).value]).toEqual(['opened', 'closed']);
      const opened = lines.next().then(({ value }) => value === 'opened');
      const killsWaiting = random(2) === 0;
      if (!killsWaiting) await opened;
      await sleep(random(killsWaiting ? 500 : 50));
      await kill(client);
      outcomes[(await opened) ? 'open' : 'waiting'] += 1;
    }
  };
  await Promise.all(Array.from({ length: isLong ? 50 : 8 }, runClients));
  expect(outcomes.open).toBeGreaterThan(isLong ? 5 : 0);
  expect(outcomes.waiting).toBeGreaterThan(isLong ? 5 : 0);
  await expect.poll(counts, { timeout: 5000 }).toEqual({ leased: 0, waiting: 0, idle: size });
});

test('clients take turns with the test runs of the fixtures', async () => {
  await using service = await startService({ apiKey });
  const counts = await poolOf(service, 1);
  const call = callerOf(service);
  const holder = await call('POST', '/browser_pools/ci/acquire', {});
  const served: string[] = [];
  const release = (session_id: string) => call('POST', '/browser_pools/ci/release', { session_id, reuse: true });
  const ways = {
    fixtures: async () => {
      const { body } = await call('POST', '/browser_pools/ci/acquire', { tags: { [runTag]: 'of-the-fixtures' } });
      served.push('fixtures');
      await release(body.session_id);
    },
    client: async () => {
      const client = new WebSocket(`${socketUrl(service)}/cdp?pool=ci&release=reuse&tags[${runTag}]=other`, {
        headers,
      });
      await once(client, 'open');
      served.push('client');
      client.close();
    },
  };
  const waiting: Promise<void>[] = [];
  for (const way of ['fixtures', 'fixtures', 'fixtures', 'fixtures', 'client', 'client'] as const) {
    waiting.push(ways[way]());
    await expect.poll(counts).toMatchObject({ waiting: waiting.length });
  }
  await release(holder.body.session_id);
  await Promise.all(waiting);
  expect(served).toEqual(['fixtures', 'client', 'fixtures', 'client', 'fixtures', 'fixtures']);
});

test('clients lease browsers of machines through a control plane @long', async () => {
  await using service = await startControlPlane(1, { apiKey });
  const counts = await poolOf(service, 1);
  for (const connect of [
    () => chromium.connect(`${socketUrl(service)}/playwright?pool=ci`, { headers }),
    () => chromium.connectOverCDP(`${service.url}/cdp?pool=ci&token=${apiKey}`),
  ]) {
    const browser = await connect();
    const page = await browser.newPage();
    await page.setContent('<title>on a machine</title>');
    await expect(page).toHaveTitle('on a machine');
    expect(await counts()).toMatchObject({ leased: 1, waiting: 0 });
    await browser.close();
    await expect.poll(counts).toMatchObject({ leased: 0, waiting: 0 });
  }
});

test('the audit record has the status with which a machine refuses a client', async () => {
  const key = 'key-of-the-machine';
  await using machine = await startService({ apiKey: key });
  // Without a session, the control plane doesn't know the versions of its machine. It creates the pool `default`.
  await using service = await startService(
    { apiKey, machines: { from: machine.url, apiKey: key } },
    { addUser: () => true },
  );
  const refused = await refusalOf(`${socketUrl(service)}/playwright`, {
    ...headers,
    'user-agent': 'Playwright/1.2.3 (x64)',
  });
  expect(refused).toMatchObject({ status: 428, message: expect.stringContaining('the client is Playwright 1.2.3') });
  const { start, end } = lastHours();
  const list = `/audit-logs?${new URLSearchParams({ start, end })}`;
  const statuses = async () => {
    const { body } = await callerOf(service)('GET', list);
    return (body as { route: string; status: number }[])
      .filter(({ route }) => route === '/playwright')
      .map(({ status }) => status);
  };
  await expect.poll(statuses).toEqual([428]);
});

function socketUrl({ url }: Service): string {
  return url.replace('http', 'ws');
}

/** Creates the pool `ci`. The returned function counts its leases and the clients that wait. */
async function poolOf(service: Service, size: number) {
  const call = callerOf(service);
  await call('POST', '/browser_pools', { name: 'ci', size, headless: true });
  return async () => {
    const { body } = await call('GET', '/browser_pools/ci');
    return {
      leased: body.acquired_count as number,
      waiting: (body.waiting_count ?? 0) as number,
      idle: body.available_count as number,
    };
  };
}

/** A process that connects `times` times, and stays connected. */
function startClient(url: string, times = 1): ChildProcess {
  const args = [join(import.meta.dirname, 'suites/client.mjs'), url, headers.authorization, String(times)];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function kill(client: ChildProcess): Promise<void> {
  const exited = once(client, 'exit');
  client.kill('SIGKILL');
  await exited;
}
