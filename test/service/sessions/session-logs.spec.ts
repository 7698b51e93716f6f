import { expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { createClient } from '../../../src/client/index.ts';
import { openStream } from '../../support/http/event-streams.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { callerOf, type Call } from '../../support/service/service.ts';
import { test as base } from '../../support/service/shared-service.ts';

type Log = { event: 'log'; timestamp: string; message: string };

const test = base.extend<{ id: string; write: (text: string) => Promise<void> }>({
  id: async ({ call }, use) => use((await call('POST', '/browsers', { headless: true })).body.session_id),
  write: async ({ call, id }, use) => use((text) => writeLog(call, id, text)),
});

test.describe.configure({ mode: 'default' });

async function writeLog(call: Call, id: string, text: string): Promise<void> {
  const path = `/browsers/${id}/fs/write_file?path=/tmp/app.log`;
  expect((await call('PUT', path, new TextEncoder().encode(text))).status).toBe(201);
}

async function collect(lines: AsyncIterable<{ message: string }>): Promise<string[]> {
  const messages: string[] = [];
  for await (const { message } of lines) messages.push(message);
  return messages;
}

test("follows a log file, reads the browser's messages, reports a missing source", async ({ service, id, write }) => {
  await write('one\r\n\ntwo\nä'.padEnd(100, 'x'));
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const query = { source: 'path', path: '/tmp/app.log', follow: false } as const;
  expect(await collect(client.browsers.logs.stream(id, query))).toEqual(['one', 'two', 'ä'.padEnd(90, 'x')]);
  const kernel = new Kernel({ baseURL: service.url, apiKey: service.apiKey });
  expect(await collect(await kernel.browsers.logs.stream(id, query))).toHaveLength(3);

  const { call } = service;
  const messages = async (query: string) => {
    const { body } = await call('GET', `/browsers/${id}/logs/stream?${query}`);
    return Array.from((body as string).matchAll(/^data: (.*)$/gm), ([, data]) => (JSON.parse(data!) as Log).message);
  };
  const missing = ['logs source not available'];
  for (const query of [
    'source=path',
    ...['/nowhere', 'relative', '/../../etc/passwd', '/tmp'].map((path) => `source=path&path=${path}`),
    'source=supervisor&supervisor_process=xorg',
  ])
    expect(await messages(query), query).toEqual(missing);
  const all = await messages('source=supervisor&supervisor_process=chromium&follow=false');
  expect(all).not.toEqual(missing);
  expect((await call('GET', `/browsers/${id}/logs/stream`)).status).toBe(400);
  expect((await call('GET', '/browsers/none/logs/stream?source=path&path=/a')).status).toBe(404);

  // Following begins at the file's end, and ends with the session.
  await write('old\n');
  const stream = await openStream<Log>(service, `/browsers/${id}/logs/stream?source=path&path=/tmp/app.log`);
  const run = (line: string) =>
    call('POST', `/browsers/${id}/process/exec`, { command: '/bin/sh', args: ['-c', line], cwd: '/tmp' });
  const append = (text: string) => run(`printf '${text}' >> app.log`);
  await append('new\\n\\nha');
  await append('lf\\n');
  await expect.poll(() => stream.events.map(({ message }) => message)).toEqual(['new', 'half']);
  await run(': > app.log');
  // The service looks at the file every 100 ms; without a look between, it can't know that the file was emptied.
  await expect
    .poll(async () => {
      await append('again\\n');
      return stream.events.map(({ message }) => message);
    })
    .toContain('again');
  expect(stream.events[0]).toMatchObject({ event: 'log', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) });
  await call('DELETE', `/browsers/${id}`);
  await stream.ended;
});

test('a lease has at most 20 log streams, which end with it @long', async ({ service, id, write }) => {
  await write('old\n');
  const path = `/browsers/${id}/logs/stream?source=path&path=/tmp/app.log`;
  const streams = await Promise.all(Array.from({ length: 20 }, () => openStream<Log>(service, path)));
  expect((await service.call('GET', path)).status).toBe(429);
  streams[0]!.close();
  await expect.poll(async () => (await openStream<Log>(service, path)).response.statusCode).toBe(200);
  await service.call('POST', `/browsers/${id}/hand_over`);
  await Promise.all(streams.slice(1).map(({ ended }) => ended));
});

test('a control plane passes log streams on @long', async () => {
  await using service = await startControlPlane(1);
  const call = callerOf(service);
  const { session_id: id } = (await call('POST', '/browsers', { headless: true })).body;
  await writeLog(call, id, 'one\ntwo\n');
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const lines = client.browsers.logs.stream(id, { source: 'path', path: '/tmp/app.log', follow: false });
  expect(await collect(lines)).toEqual(['one', 'two']);
});
