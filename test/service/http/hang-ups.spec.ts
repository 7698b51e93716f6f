import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect } from '@playwright/test';
import { key, test } from './http-layer.ts';

for (const way of ['destroy', 'resetAndDestroy', 'end'] as const) {
  test(`the handler of a request learns that its caller hangs up by ${way}`, async ({ send, noticed }) => {
    const socket = send('POST /poll', ['Content-Length: 0']).resume();
    await expect.poll(() => noticed.polls).toBe(1);
    expect(noticed.aborts).toBe(0);
    socket[way]();
    await expect.poll(() => noticed.aborts).toBe(1);
    noticed.finishPoll();
  });
}

test('the handler learns that its caller hung up while the answer was written', async ({ server, noticed }) => {
  const closed = new Int32Array(new SharedArrayBuffer(8));
  const request = `POST /poll HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\nContent-Length: 0\r\n\r\n`;
  const caller = new Worker(
    `const { workerData: { port, request, closed } } = require('node:worker_threads');
    const socket = require('node:net').connect(port, '127.0.0.1', () => socket.write(request));
    socket.on('close', () => Atomics.notify(closed, Atomics.store(closed, 1, 1)));
    Atomics.waitAsync(closed, 0, 0).value.then(() => socket.destroy());`,
    { eval: true, workerData: { port: Number(new URL(server.url).port), request, closed } },
  );
  await expect.poll(() => noticed.polls).toBe(1);
  noticed.finishPoll({});
  // The answer is written in this turn of the event loop, before it can be read that the caller is gone.
  Atomics.notify(closed, 0);
  expect(Atomics.wait(closed, 1, 0, 5000)).not.toBe('timed-out');
  await expect.poll(() => noticed.aborts).toBe(1);
  await caller.terminate();
});

test('the handler sees no hang-up after a complete answer', async ({ server, noticed, call }) => {
  for (const [connection, counts] of Object.entries({ 'keep-alive': [1, 2, 3], close: [4] })) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
    const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\nConnection: ${connection}\r\nContent-Length: 0\r\n\r\n`;
    for (const count of counts) {
      socket.write(`POST /poll HTTP/1.1\r\n${head}`);
      await expect.poll(() => noticed.polls).toBe(count);
      noticed.finishPoll({ count });
      await once(socket, 'data');
    }
    await once(socket.destroy(), 'close');
  }
  await call('GET', '/things/a');
  expect(noticed.aborts).toBe(0);
});

test('an incomplete request body is not reported as an error of the service', async ({ send, call, logged }) => {
  const socket = send('POST /things/a/echo', ['Content-Length: 100'], '{"a":');
  await call('GET', '/things/a');
  socket.destroy();
  await once(socket, 'close');
  expect((await call('GET', '/things/a')).status).toBe(200);
  expect(logged).toEqual([]);
});

test('frees the buffered bytes of a caller that hung up, without an error', async ({ send, noticed, logged }) => {
  const socket = send('GET /poll');
  await expect.poll(() => noticed.polls).toBe(1);
  socket.destroy();
  await expect.poll(() => noticed.aborts).toBe(1);
  noticed.finishPoll();
  await expect.poll(() => noticed.closedStreams).toBe(1);
  expect(logged).toEqual([]);
});
