import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { expect, test as base } from '@playwright/test';
import { Hono } from 'hono';
import { sendStored } from '../../src/service/http/answer.ts';
import { listen, type HttpServer } from '../../src/service/http/server.ts';
import { statusesIn } from './raw-http.ts';

const patienceMs = 500;

type Noticed = { begun: number; closedStreams: number; bodies: string[]; finish: () => void };

/** A server that waits for half a second where the service waits for a minute. */
const test = base.extend<{ noticed: Noticed; server: HttpServer; open: (text: string) => Socket }>({
  noticed: async ({}, use) => use({ begun: 0, closedStreams: 0, bodies: [], finish: () => {} }),
  server: async ({ noticed }, use) => {
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
    const server = await listen({ fetch: app.fetch, port: 0, patienceMs, upgrade: (_request, socket) => socket.destroy() });
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

test('who connects and says nothing, or never ends its headers, is dropped', async ({ open }) => {
  const sockets = ['', 'GET / HT', 'GET /wait HTTP/1.1\r\nHost: 127.0.0.1\r\nX: '].map((text) => open(text).resume());
  const trickling = sockets[2]!;
  const trickle = setInterval(() => trickling.write('x'), 100);
  await Promise.all(sockets.map(dropped));
  clearInterval(trickle);
});

test('who stops in the middle of its body is dropped, and who is slow is served', async ({ open, noticed }) => {
  const stopped = dropped(open(`${post}{`).resume());
  const slow = open(post);
  const answered = once(slow, 'data');
  for (let sent = 0; sent < 10; sent += 1) {
    slow.write('0123456789');
    await sleep(patienceMs / 5);
  }
  expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 200 /);
  await stopped;
  expect(noticed).toMatchObject({ begun: 2, bodies: ['0123456789'.repeat(10)] });
});

test('who is refused before its body has come sends the rest and asks again, however slowly, but not for ever', async ({
  open,
  noticed,
}) => {
  const refused = 'POST /refused HTTP/1.1\r\nHost: 127.0.0.1\r\n';
  const slow = open(`${refused}Content-Length: 80\r\n\r\n`);
  const received = answersOn(slow);
  for (let sent = 0; sent < 8; sent += 1) {
    await sleep(patienceMs / 5);
    slow.write('0123456789');
  }
  slow.write(`${post}${'0123456789'.repeat(10)}`);
  await expect.poll(received).toEqual([413, 200]);
  expect(noticed.bodies).toEqual(['0123456789'.repeat(10)]);

  const endless = open(`${refused}Transfer-Encoding: chunked\r\n\r\n`).resume();
  const sending = setInterval(() => endless.write('1\r\nx\r\n'), patienceMs / 5);
  await dropped(endless);
  clearInterval(sending);
});

test('who takes nothing of its answer is dropped, and what it would have read is given up', async ({ open, noticed }) => {
  const socket = open('GET /bytes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n').pause();
  await expect.poll(() => noticed.closedStreams).toBe(1);
  expect(socket.bytesRead).toBeLessThan(64 * 1024 * 1024);
});

test('who waits for the service is not dropped, however long that takes', async ({ open, noticed }) => {
  const socket = open('GET /wait HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await sleep(patienceMs * 4);
  expect(noticed.begun).toBe(1);
  noticed.finish();
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /);
});

test('who offers to go on in HTTP/2 is answered in HTTP/1.1, and asks again on the same connection', async ({ open, noticed }) => {
  const offer = 'Host: 127.0.0.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
  const socket = open(`GET /wait HTTP/1.1\r\n${offer}\r\n`);
  const received = answersOn(socket);
  await expect.poll(() => noticed.begun).toBe(1);
  noticed.finish();
  await expect.poll(received).toEqual([200]);
  socket.write(`POST /body HTTP/1.1\r\n${offer}Content-Length: 4\r\n\r\nsent`);
  await expect.poll(received).toEqual([200, 200]);
  expect(noticed.bodies).toEqual(['sent']);
});

/** Resolves when a socket is closed, also by a reset: that is what one gets whose bytes cross the end of the connection. */
function dropped(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once('close', () => resolve()));
}

/** The statuses of the answers that have come so far. */
function answersOn(socket: Socket): () => number[] {
  let received = '';
  socket.on('data', (data) => (received += data.toString('latin1')));
  return () => statusesIn(received);
}
