import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { isLong, longOnly } from '../../support/processes/long-form.ts';
import { createClient, type Client } from '../../../src/client/index.ts';
import { decoded } from '../../support/service/session-processes.ts';
import { dataDirectory } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { expect, test as base } from '../../support/worker.ts';

type Served = { url: string; apiKey: string; client: Client; memory: () => number };

const apiKey = 'waiting-bytes-key';
const mebibyte = 1024 * 1024;
const largest = { command: 'head', args: ['-c', String(16 * mebibyte), '/dev/zero'] };

const test = base.extend<{
  served: Served;
  hold: (served: Served, id: string, body: object, key?: string) => Promise<Held>;
}>({
  /** The service in its own process, so that its memory is that of the service alone. */
  served: async ({}, use, testInfo) => {
    const env = { PLAYWRIGHT_POOL_API_KEY: apiKey };
    await using service = new CliProcess(
      ['serve', '--port', '0', '--data-dir', dataDirectory(testInfo), '--drain-timeout', '0'],
      { env },
    );
    const url = (await service.firstLine()).replace('listening on ', '');
    await using client = createClient({ baseURL: url, apiKey, maxRetries: 0 });
    await use({ url, apiKey, client, memory: () => residentBytes(service.child.pid!) });
  },
  /** Sends an `exec` call and reads nothing but the status of its answer. */
  hold: async ({}, use) => {
    const sockets: Socket[] = [];
    await use(async ({ url }, id, body, key = apiKey) => {
      const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' });
      sockets.push(socket.on('error', () => {}));
      return await heldAnswer(socket, id, body, key);
    });
    for (const socket of sockets) socket.destroy();
  },
});

test.skip(process.platform !== 'linux', 'reads the memory of the service from /proc');

test('answers 429 with the budget when too much output waits, and serves small calls', async ({ served, hold }) => {
  const { client, memory } = served;
  const { session_id: greedy } = await client.browsers.create();
  const { session_id: other } = await client.browsers.create();
  const before = memory();
  const answers = await Promise.all(Array.from({ length: 20 }, () => hold(served, greedy, largest)));
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(6);
  expect(refused.length).toBeGreaterThanOrEqual(8);
  for (const { text } of refused)
    expect(JSON.parse(text)).toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('the session budget of waiting bytes is used up: at most 128 MiB'),
    });
  expect((memory() - before) / mebibyte).toBeLessThan(300);
  for (const id of [greedy, other])
    expect(decoded((await client.browsers.process.exec(id, { command: 'echo', args: ['works'] })).stdout_b64)).toBe(
      'works\n',
    );
  // A session that waits for nothing gets large answers, whole.
  const { stdout_b64 } = await client.browsers.process.exec(other, {
    ...largest,
    args: ['-c', '16000001', '/dev/zero'],
  });
  expect(Buffer.from(stdout_b64, 'base64').equals(Buffer.alloc(16_000_001))).toBe(true);
});

test('32 sessions that read no answers leave memory and other projects alone @long', async ({ served, hold }) => {
  test.skip(!isLong, longOnly);
  test.setTimeout(600_000);
  const { url, client, memory } = served;
  const clientOf = async (name: string) => {
    const { id } = await client.projects.create({ name });
    const { key } = await client.apiKeys.create({ name, project_id: id });
    return { key, of: createClient({ baseURL: url, apiKey: key, maxRetries: 0 }) };
  };
  const [greedy, quiet] = [await clientOf('greedy'), await clientOf('quiet')];
  await using _ = greedy.of;
  await using __ = quiet.of;
  const ids: string[] = [];
  while (ids.length < 32) {
    const created = await Promise.all([1, 2].map(() => greedy.of.browsers.create({ timeout_seconds: 3600 })));
    ids.push(...created.map(({ session_id }) => session_id));
  }
  const { session_id: id } = await quiet.of.browsers.create({ timeout_seconds: 3600 });
  await quiet.of.browsers.fs.writeFile(id, Buffer.from('text'), { path: '/home/user/a.txt' });
  const answers = {
    retrieve: () => quiet.of.browsers.retrieve(id),
    readFile: () => quiet.of.browsers.fs.readFile(id, { path: '/home/user/a.txt' }),
    exec: () => quiet.of.browsers.process.exec(id, { command: 'true' }),
  };
  const idle = await medians(answers);
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, memory())), 50);
  const held = await Promise.all(
    ids.flatMap((each) => Array.from({ length: 32 }, () => hold(served, each, largest, greedy.key))),
  );
  const loaded = await medians(answers);
  clearInterval(watch);
  expect(held.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
  expect(held.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(12);
  expect(most / mebibyte).toBeLessThan(1000);
  for (const [name, ms] of Object.entries(loaded))
    expect(ms, JSON.stringify({ name, idle, loaded })).toBeLessThan(2 * idle[name]!);
});

/** The median time of 30 calls of each kind, in ms. */
async function medians(calls: Record<string, () => Promise<unknown>>): Promise<Record<string, number>> {
  const results: Record<string, number> = {};
  for (const [name, call] of Object.entries(calls)) {
    const times: number[] = [];
    for (let count = 0; count < 30; count += 1) {
      const before = performance.now();
      await call();
      times.push(performance.now() - before);
    }
    results[name] = times.toSorted((one, other) => one - other)[15]!;
  }
  return results;
}

type Held = { status: number; text: string };

/** The status of an answer, and its text if it is an error. Then the socket is read no more. */
async function heldAnswer(socket: Socket, id: string, body: object, key: string): Promise<Held> {
  const json = JSON.stringify(body);
  socket.write(
    `POST /browsers/${id}/process/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
  );
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  const head = data.toString('latin1');
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), text: head.slice(head.indexOf('\r\n\r\n') + 4) };
}

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
