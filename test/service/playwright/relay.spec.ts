import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { WaitingBytes } from '../../../src/service/process/waiting-bytes.ts';
import { openHost, relay } from '../../../src/service/playwright/relay.ts';
import { TestClock } from '../../support/service/clock.ts';
import { expect, test } from '../../support/worker.ts';

test('messages of a client wait 10 s at most for the start of a trace', async () => {
  const clock = new TestClock();
  const received: string[] = [];
  const host = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  const service = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  host.on('connection', (socket) => socket.on('message', (data: Buffer) => received.push(data.toString())));
  await Promise.all([once(host, 'listening'), once(service, 'listening')]);
  const opened = await openHost(urlOf(host));
  service.on('connection', (client) => {
    const waiting = new WaitingBytes().claim({ projectId: 'project', sessionId: 'session' });
    relay(client, opened, { clock, waiting, arrived: () => 0 });
  });
  const client = new WebSocket(urlOf(service));
  await once(client, 'open');
  const messages = ['{"id":1,"method":"tracingStartChunk"}', '{"id":2,"method":"goto"}'];
  for (const message of messages) client.send(message);
  await expect.poll(() => received).toEqual(messages.slice(0, 1));
  await expect.poll(() => clock.pending()).toEqual([10_000]);
  clock.advance(10_000);
  await expect.poll(() => received).toEqual(messages);
  client.terminate();
  host.close();
  service.close();
});

function urlOf(server: WebSocketServer): string {
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
