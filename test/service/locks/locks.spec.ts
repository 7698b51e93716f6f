import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from '@playwright/test';
import { LockClient } from '../../support/http/lock-client.ts';
import { refusalOf } from '../../support/http/refusal.ts';
import { dataDirectory, startTestService, test as base, type TestService } from '../../support/service/service.ts';

const test = base.extend<{
  /** Asks for locks, and waits for the first answer. */
  ask: (query: string, options?: { headers?: Record<string, string>; of?: TestService }) => Promise<LockClient>;
}>({
  ask: async ({ service }, use) => {
    const clients: LockClient[] = [];
    await use(async (query, { headers, of = service } = {}) => {
      const client = new LockClient(of, query, headers);
      clients.push(client);
      return await client.answered();
    });
    for (const { socket } of clients) socket.terminate();
  },
});

/** Steps of several clients. `+a A B`: client a asks for the locks A and B. `-a`: it leaves. After `=`, the holders. */
for (const [title, steps] of Object.entries({
  'in the order of asking': '+a A = a; +b A = a; +c A = a; -a = b; -b = c',
  'other names do not wait': '+a A = a; +b B = a b',
  'all names at once': '+a A = a; +b A B = a; -a = b',
  'those who need one name do not overtake': '+a A = a; +b A B = a; +c B = a; -a = b; -b = c',
  'no deadlock in opposite orders': '+a A = a; +b B A = a; +c A B = a; -a = b; -b = c',
  'one who leaves the queue': '+a A = a; +b A B = a; +c B = a; -b = a c',
  'the same name twice': '+a A A = a',
}))
  test(`gives locks fairly: ${title}`, async ({ ask }) => {
    const clients = new Map<string, LockClient>();
    for (const [step, holders] of steps.split('; ').map((each) => each.split(' = ') as [string, string])) {
      const [sign, name] = [step[0], step[1]!];
      const names = step.slice(3).split(' ');
      if (sign === '+') clients.set(name, await ask(names.map((each) => `name=${each}`).join('&')));
      else {
        await clients.get(name)!.close();
        clients.delete(name);
      }
      const held = () => [...clients].flatMap(([id, client]) => (client.isHeld ? [id] : [])).join(' ');
      await expect.poll(held, step).toBe(holders);
    }
  });

test('tells a waiting client its place and the holder', async ({ ask }) => {
  await ask('name=account&holder=shard 3: checkout');
  await ask('name=account');
  const third = await ask('name=account');
  expect(third.told).toEqual([{ type: 'waiting', before: 2, holder: 'shard 3: checkout' }]);
});

test('projects have locks of their own', async ({ ask, client }) => {
  const { id } = await client.projects.create({ name: 'shop' });
  await ask('name=A');
  const other = await ask('name=A', { headers: { 'x-kernel-project-id': id } });
  expect(other.isHeld).toBe(true);
  expect((await ask('name=A')).isHeld).toBe(false);
});

test('a client whose key is revoked loses its locks', async ({ service, ask, client }) => {
  const { id, key } = await client.apiKeys.create({ name: 'ci' });
  const holder = new LockClient({ url: service.url, apiKey: key }, 'name=A');
  await holder.held();
  await client.apiKeys.delete(id);
  const next = await ask('name=A');
  const [code] = (await holder.closed) as [number];
  expect(code).toBe(1008);
  await next.held();
});

test('refuses wrong requests with a reason', async ({ service }) => {
  const url = `${service.url.replace('http', 'ws')}/locks`;
  const headers: Record<string, string> = { authorization: `Bearer ${service.apiKey}` };
  const cases: [string, Record<string, string>, number, string][] = [
    ['?name=A', {}, 401, 'the request has no API key'],
    ['?name=A', { authorization: 'Bearer wrong' }, 401, "doesn't know this API key"],
    ['', headers, 400, 'the URL names no lock: add name=NAME'],
    ['?nam=A', headers, 400, 'there is no parameter "nam"; the nearest one is name'],
    [`?name=${'x'.repeat(201)}`, headers, 400, 'name: must be 1 to 20 names'],
    ['?name=A&project=nowhere', headers, 404, 'nowhere'],
  ];
  for (const [query, sent, status, message] of cases)
    expect(await refusalOf(`${url}${query}`, sent), query).toMatchObject({
      status,
      message: expect.stringContaining(message),
    });
});

test('a service that starts again keeps a lock for its holder', async ({}, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo), apiKey: 'key-of-locks' };
  let token = '';
  {
    await using service = await startTestService(options);
    const holder = new LockClient(service, 'name=A');
    token = await holder.held();
    await new LockClient(service, 'name=A').answered();
  }
  await using service = await startTestService(options);
  const quick = await new LockClient(service, 'name=A').answered();
  const free = new LockClient(service, 'name=B');
  await free.held();
  const liar = await new LockClient(service, 'name=A&held=other').answered();
  const holder = new LockClient(service, `name=A&held=${token}`);
  await holder.held();
  expect([quick.isHeld, liar.isHeld]).toEqual([false, false]);
  await holder.close();
  await quick.held();
  expect(liar.isHeld).toBe(false);
});

test('a holder whose connection breaks keeps its lock for 2 s', async ({ service, ask }) => {
  const query = 'name=A&name=B&holder=checkout';
  const holder = await ask(query);
  const next = await ask('name=A&holder=login');
  holder.socket.terminate();
  const back = await ask(`${query}&held=${await holder.held()}`);
  expect([back.isHeld, next.isHeld]).toEqual([true, false]);
  back.socket.terminate();
  await next.held();
  expect(next.heldAt! - back.heldAt!).toBeGreaterThan(1500);
  await next.close();
  const late = new LockClient(service, `${query}&held=${await back.held()}`);
  await late.closed;
  expect(late.told).toEqual([{ type: 'lost', holder: 'login' }]);
});

test('a late holder gets its lock again if nobody else had it, and hears who had it after a restart', async ({}, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo), apiKey: 'key-of-locks' };
  const tokens: string[] = [];
  {
    await using service = await startTestService(options);
    for (const name of ['A', 'B']) {
      const holder = new LockClient(service, `name=${name}`);
      tokens.push(await holder.held());
      holder.socket.terminate();
    }
    const next = new LockClient(service, 'name=A&holder=login');
    await next.held();
    await next.close();
    // The answer to the first attempt may have been lost.
    const back = new LockClient(service, `name=B&held=${tokens[1]}`);
    await back.held();
    await new LockClient(service, `name=B&held=${tokens[1]}`).held();
    await back.closed;
  }
  await using service = await startTestService(options);
  const lost = await new LockClient(service, `name=A&held=${tokens[0]}`).answered();
  expect(lost.told).toEqual([{ type: 'lost', holder: 'login' }]);
});

test('a lock whose holder does not come back after a restart is free again', async ({}, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo), apiKey: 'key-of-locks' };
  {
    await using service = await startTestService(options);
    await new LockClient(service, 'name=A').held();
  }
  await using service = await startTestService(options);
  const next = await new LockClient(service, 'name=A').answered();
  expect(next.isHeld).toBe(false);
  await next.held();
});

const script = fileURLToPath(new URL('lock-client.mjs', import.meta.url));

/** Starts a process that takes the lock A. */
function startProcess({ url, apiKey }: TestService, file: string, times: number): ChildProcess {
  const args = [script, `${url.replace('http', 'ws')}/locks?name=A`, apiKey, file, String(times)];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function handOvers(service: TestService, file: string, each: number): Promise<void> {
  const processes = Array.from({ length: 8 }, () => startProcess(service, file, each));
  const codes = await Promise.all(processes.map(async (process) => (await once(process, 'exit'))[0] as number));
  expect(codes).toEqual(codes.map(() => 0));
}

test('a lock never has two holders in 80 hand-overs between 8 processes', async ({ service }, testInfo) => {
  await handOvers(service, testInfo.outputPath('held'), 10);
});

test(
  'a lock never has two holders in 1000 hand-overs between 8 processes',
  { tag: '@long' },
  async ({ service }, testInfo) => {
    test.setTimeout(180_000);
    await handOvers(service, testInfo.outputPath('held'), 125);
  },
);

for (const { signal, within } of [
  { signal: 'SIGKILL', within: 5000 },
  { signal: 'SIGSTOP', within: 10_000 },
] as const)
  test(`the lock of a process that gets ${signal} goes to the next one`, async ({ service, ask }, testInfo) => {
    const file = testInfo.outputPath('held');
    const holder = startProcess(service, file, Infinity);
    try {
      await once(holder.stdout!, 'data');
      const next = await ask('name=A');
      expect(next.isHeld).toBe(false);
      const lostAt = Date.now();
      holder.kill(signal);
      await next.held();
      expect(Date.now() - lostAt).toBeLessThan(within);
    } finally {
      holder.kill('SIGKILL');
      await rm(file, { force: true });
    }
  });
