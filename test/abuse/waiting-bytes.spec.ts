import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, test as base } from '@playwright/test';
import { createClient, type Client } from '../../src/client/index.ts';
import { decoded } from '../support/session-processes.ts';
import { CliProcess } from '../support/service-process.ts';

type Served = { url: string; apiKey: string; client: Client; memory: () => number };

const apiKey = 'waiting-bytes-key';
const mebibyte = 1024 * 1024;
const largest = { command: 'head', args: ['-c', String(16 * mebibyte), '/dev/zero'] };

const test = base.extend<{ served: Served; hold: (served: Served, id: string, body: object) => Promise<Held> }>({
  /** The service in its own process, so that its memory is that of the service alone. */
  served: async ({}, use) => {
    const env = { PLAYWRIGHT_POOL_API_KEY: apiKey };
    await using service = new CliProcess(['serve', '--port', '0', '--drain-timeout', '0'], { env });
    const url = (await service.firstLine()).replace('listening on ', '');
    await using client = createClient({ baseURL: url, apiKey, maxRetries: 0 });
    await use({ url, apiKey, client, memory: () => residentBytes(service.child.pid!) });
  },
  /** Sends an `exec` call and reads nothing but the status of its answer. */
  hold: async ({}, use) => {
    const sockets: Socket[] = [];
    await use(async ({ url }, id, body) => {
      const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' });
      sockets.push(socket.on('error', () => {}));
      return await heldAnswer(socket, id, body);
    });
    for (const socket of sockets) socket.destroy();
  },
});

test.skip(process.platform !== 'linux', 'reads the memory of the service from /proc');

test('answers 429 with the name of the budget when too much output waits, and serves small calls', async ({
  served,
  hold,
}) => {
  const { client, memory } = served;
  const { session_id: greedy } = await client.browsers.create();
  const { session_id: other } = await client.browsers.create();
  const before = memory();
  const answers = await Promise.all(Array.from({ length: 16 }, () => hold(served, greedy, largest)));
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(6);
  expect(refused.length).toBeGreaterThanOrEqual(8);
  for (const { text } of refused)
    expect(JSON.parse(text)).toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('the session budget of waiting bytes is used up: at most 128 MiB'),
    });
  console.log(before / mebibyte, memory() / mebibyte, answers.map((a) => a.status).join());
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

type Held = { status: number; text: string };

/** The status of an answer, and its text if it is an error. Then the socket is read no more. */
async function heldAnswer(socket: Socket, id: string, body: object): Promise<Held> {
  const json = JSON.stringify(body);
  socket.write(
    `POST /browsers/${id}/process/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${apiKey}\r\n` +
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
