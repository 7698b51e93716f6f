import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { sendStored } from '../../../src/service/http/answers/answer.ts';
import { listen, type HttpServer } from '../../../src/service/http/server.ts';
import { statusesIn } from '../messages/raw-http.ts';
import { expect, test as base } from '../../support/worker.ts';

const patienceMs = 1000;

type Noticed = { begun: number; closedStreams: number; bodies: string[]; finish: () => void };

/** A server that waits a second, where the service waits a minute, and takes slower bodies. */
const test = base.extend<{
  noticed: Noticed;
  /** In bytes per second. */
  leastRate: number;
  server: HttpServer;
  open: (text: string) => Socket;
}>({
  noticed: async ({}, use) => use({ begun: 0, closedStreams: 0, bodies: [], finish: () => {} }),
  leastRate: [20, { option: true }],
  server: async ({ noticed, leastRate }, use) => {
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.post('/body', async (context) => {
      noticed.begun += 1;
      noticed.bodies.push(await context.req.text());
      return context.text('read');
    });
    app.post('/refused', (context) => context.text('refused', 413));
    app.get('/wait', async (context) => {
      noticed.begun += 1;
      await new Promise<void>((resolve) => (noticed.finish = resolve));
      return context.text('done');
    });
    app.get('/bytes', (context) => {
      const stream = Readable.from(chunks()).once('close', () => (noticed.closedStreams += 1));
      const stored = { size: 64 * 1024 * 1024, contentType: 'application/octet-stream', read: () => stream };
      return sendStored(context, stored).catch(() => RESPONSE_ALREADY_SENT);
    });
    app.onError((_error, context) => context.text('failed', 400));
    const server = await listen({
      fetch: app.fetch,
      port: 0,
      patienceMs,
      leastRate,
      upgrade: (_request, socket) => socket.destroy(),
    });
    await use(server);
    server.stop();
    await server.drain();
  },
  open: async ({ server }, use) => {
    const sockets: Socket[] = [];
    await use((text) => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
      socket.write(text);
      sockets.push(socket);
      return socket;
    });
    for (const socket of sockets) socket.destroy();
  },
});

function* chunks(): Generator<Buffer> {
  for (let count = 0; count < 1024; count += 1) yield Buffer.alloc(64 * 1024);
}

const post = 'POST /body HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n';
const refused = 'POST /refused HTTP/1.1\r\nHost: 127.0.0.1\r\n';

/** What clients send at first, and what they then send again and again. Each is too slow. */
const slowClients: Record<string, { first: string; more?: string; everyMs?: number }> = {
  'sends nothing': { first: '' },
  'sends a part of a request line': { first: 'GET / HT' },
  'sends headers byte by byte': { first: 'GET /wait HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ', more: 'x', everyMs: 100 },
  'sends the first byte of a body': { first: `${post}{` },
  'sends a body below the lowest rate': { first: post, more: 'x', everyMs: patienceMs / 10 },
  'goes on with a refused body': {
    first: `${refused}Transfer-Encoding: chunked\r\n\r\n`,
    more: '1\r\nx\r\n',
    everyMs: patienceMs / 5,
  },
};

test('closes connections that send a request, or the body of one, too slowly', async ({ open }) => {
  const left = new Set(Object.keys(slowClients));
  for (const [name, { first, more, everyMs }] of Object.entries(slowClients)) {
    const socket = open(first).resume();
    const trickle = more === undefined ? undefined : setInterval(() => socket.write(more), everyMs);
    // Also by a reset: bytes that cross the end of the connection cause one.
    socket.once('close', () => {
      clearInterval(trickle);
      left.delete(name);
    });
  }
  await expect.poll(() => [...left]).toEqual([]);
});

test('serves slow bodies, also after a refused one, and requests that take long', async ({ open, noticed }) => {
  const digits = '0123456789';
  const slow = open(post);
  const afterRefused = open(`${refused}Content-Length: 60\r\n\r\n`);
  const long = open('GET /wait HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const received = [slow, afterRefused, long].map(answersOn);
  for (let sent = 1; sent <= 10; sent += 1) {
    slow.write(digits);
    if (sent <= 6) afterRefused.write(digits);
    if (sent === 6) afterRefused.write(`${post}${digits.repeat(10)}`);
    await sleep(patienceMs / 5);
  }
  noticed.finish();
  await expect.poll(() => received.map((answers) => answers())).toEqual([[200], [413, 200], [200]]);
  expect(noticed).toMatchObject({ begun: 3, bodies: [digits.repeat(10), digits.repeat(10)] });
});

test('closes a connection whose client reads no answer, and ends its source', async ({ open, noticed }) => {
  const socket = open('GET /bytes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n').pause();
  await expect.poll(() => noticed.closedStreams).toBe(1);
  expect(socket.bytesRead).toBeLessThan(64 * 1024 * 1024);
});

test.describe('with a high lowest rate', () => {
  test.use({ leastRate: 8 * 1024 * 1024 });

  test('closes a connection whose client reads the answer below the lowest allowed rate', async ({ open, noticed }) => {
    const socket = open('GET /bytes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n').pause();
    // A chunk of 64 KiB each time: 1.3 MB per second, so that the connection is never silent.
    socket.on('data', () => socket.pause());
    const trickle = setInterval(() => socket.resume(), 50);
    await expect.poll(() => noticed.closedStreams).toBe(1);
    clearInterval(trickle);
    expect(socket.bytesRead).toBeLessThan(64 * 1024 * 1024);
  });
});

test('answers in HTTP/1.1 when the client offers HTTP/2, and keeps the connection', async ({ open, noticed }) => {
  const offer =
    'Host: 127.0.0.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
  const socket = open(`GET /wait HTTP/1.1\r\n${offer}\r\n`);
  const received = answersOn(socket);
  await expect.poll(() => noticed.begun).toBe(1);
  noticed.finish();
  await expect.poll(received).toEqual([200]);
  socket.write(`POST /body HTTP/1.1\r\n${offer}Content-Length: 4\r\n\r\nsent`);
  await expect.poll(received).toEqual([200, 200]);
  expect(noticed.bodies).toEqual(['sent']);
});

/** Returns a function that reads the statuses of the answers so far. */
function answersOn(socket: Socket): () => number[] {
  let received = '';
  socket.on('data', (data) => (received += data.toString('latin1')));
  return () => statusesIn(received);
}
