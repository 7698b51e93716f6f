import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect } from '@playwright/test';
import { ConnectionError, ServiceError } from '../../src/client/index.ts';
import { errorOf, test } from './recording-server.ts';

const megabyte = 1024 * 1024;

/** The same random megabyte again and again, so that only what the client does takes memory. */
async function* megabytes(count: number): AsyncGenerator<Buffer> {
  const megabyteOfBytes = randomBytes(megabyte);
  for (let index = 0; index < count; index++) yield megabyteOfBytes;
}

/** Counts the bytes of a stream without keeping them. */
async function sizeOf(stream: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const chunk of stream) size += chunk.length;
  return size;
}

/**
 * By how many bytes the memory of this process grows at most while `work` runs a second time, in a heap that has its
 * working size.
 */
async function growthDuring(work: () => Promise<unknown>): Promise<number> {
  await work();
  const before = process.memoryUsage().rss;
  let highest = before;
  const timer = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), 5);
  await work();
  clearInterval(timer);
  return highest - before;
}

test('streams an upload of 100 MB', async ({ serve, connect }) => {
  let received = 0;
  const server = await serve(async (request: IncomingMessage, response) => {
    received = await sizeOf(request);
    response.writeHead(201).end();
  });
  const client = connect(server);
  const growth = await growthDuring(() =>
    client.browsers.fs.writeFile('a', Readable.from(megabytes(100)), { path: '/x' }),
  );
  expect(received).toBe(100 * megabyte);
  expect(growth).toBeLessThan(64 * megabyte);
});

test('streams a download of 100 MB', async ({ serve, connect }) => {
  const server = await serve(async (_, response) => {
    response.writeHead(200, { 'content-length': 100 * megabyte, 'content-type': 'application/octet-stream' });
    await pipeline(megabytes(100), response);
  });
  const client = connect(server);
  let size = 0;
  const growth = await growthDuring(async () => {
    const answer = await client.browsers.fs.readFile('a', { path: '/x' });
    expect(answer).toMatchObject({ status: 200, size: 100 * megabyte, contentType: 'application/octet-stream' });
    size = await sizeOf(answer.stream);
  });
  expect(size).toBe(100 * megabyte);
  expect(growth).toBeLessThan(64 * megabyte);
});

test("the service stops sending a download while the caller doesn't read it", async ({ serve, connect }) => {
  let sent = 0;
  const server = await serve((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(megabyte))) sent++;
    };
    response.on('drain', more).writeHead(200);
    more();
  });
  const { stream } = await connect(server).browsers.fs.readFile('a', { path: '/x' });
  let before;
  do {
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 300));
  } while (sent > before);
  expect(sent).toBeLessThan(20);
  stream.destroy();
});

test('destroying a download closes its connection', async ({ serve, connect }) => {
  let closed: Promise<unknown> | undefined;
  const server = await serve((_, response) => {
    closed = once(response, 'close');
    response.writeHead(200).write('x');
  });
  const { stream } = await connect(server).browsers.fs.readFile('a', { path: '/x' });
  stream.destroy();
  await closed;
});

test('reads small answers completely, as bytes or as text', async ({ serve, connect }) => {
  const server = await serve({ text: 'grüße' });
  const { fs } = connect(server).browsers;
  expect(await (await fs.readFile('a', { path: '/x' })).bytes()).toEqual(Buffer.from('grüße'));
  expect(await (await fs.readFile('a', { path: '/x' })).text()).toBe('grüße');
});

test('downloads an empty file', async ({ serve, connect }) => {
  const server = await serve({ text: '' });
  const answer = await connect(server).browsers.fs.readFile('a', { path: '/x' });
  expect(await answer.bytes()).toEqual(Buffer.alloc(0));
});

test('throws a ConnectionError for an incomplete download, also while reading', async ({ serve, connect }) => {
  const server = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('half of it', () => response.destroy());
  });
  const { fs } = connect(server).browsers;
  expect(await errorOf((await fs.readFile('a', { path: '/x' })).bytes())).toBeInstanceOf(ConnectionError);

  const late = await fs.readFile('a', { path: '/x' });
  await expect.poll(() => late.stream.errored).toBeInstanceOf(ConnectionError);
  expect(await errorOf(late.text())).toBeInstanceOf(ConnectionError);
});

test('uploads and downloads a file unchanged', async ({ serve, connect }, testInfo) => {
  const stored = testInfo.outputPath('stored');
  const server = await serve(
    async (request: IncomingMessage, response) => {
      await pipeline(request, createWriteStream(stored));
      response.writeHead(201).end();
    },
    (_, response) => void pipeline(createReadStream(stored), response),
  );
  const [source, copy] = [testInfo.outputPath('source'), testInfo.outputPath('copy')];
  await writeFile(source, megabytes(5));
  const { fs } = connect(server).browsers;
  expect(await fs.writeFile('a', createReadStream(source), { path: '/x' })).toBeUndefined();
  await pipeline((await fs.readFile('a', { path: '/x' })).stream, createWriteStream(copy));
  expect((await readFile(copy)).equals(await readFile(source))).toBe(true);
  expect((await readFile(copy)).length).toBe(5 * megabyte);
});

test('accepts bytes, text, Node streams, web streams and generators as request bodies', async ({ serve, connect }) => {
  const server = await serve({ status: 201 });
  const { fs } = connect(server).browsers;
  const bytes = new TextEncoder().encode('grüße');
  const bodies = [bytes, Buffer.from(bytes), 'grüße', Readable.from([bytes]), new Blob([bytes]).stream(), (async function* () { yield bytes; })()]; // prettier-ignore
  for (const body of bodies) await fs.writeFile('a', body, { path: '/x' });
  await fs.writeFile('a', '', { path: '/x' });
  expect(server.calls.map(({ body }) => body)).toEqual([...bodies.map(() => 'grüße'), '']);
});

test('sends a large buffer in parts, with a content length', async ({ serve, connect }) => {
  const server = await serve({ status: 201 });
  await connect(server).browsers.fs.writeFile('a', Buffer.alloc(3 * megabyte + 5, 'y'), { path: '/x' });
  expect(server.calls[0]!.headers['content-length']).toBe(String(3 * megabyte + 5));
  expect(server.calls[0]!.body).toBe('y'.repeat(3 * megabyte + 5));
});

test('rejects with the error of a failing request body', async ({ serve, connect }) => {
  const server = await serve((request) => request.resume());
  const { fs } = connect(server).browsers;
  const missing = await errorOf(fs.writeFile('a', createReadStream('/no/such/file'), { path: '/x' }));
  expect(missing).toMatchObject({ code: 'ENOENT', path: '/no/such/file' });
  expect(await errorOf(fs.writeFile('a', breaking(), { path: '/x' }))).toMatchObject({ message: 'the source broke' });
  const failed = new Readable({ read: () => {} }).destroy(new Error('failed before'));
  expect(await errorOf(fs.writeFile('a', failed, { path: '/x' }))).toMatchObject({ message: 'failed before' });
});

test("throws the service's early refusal of an upload, and destroys its stream", async ({ serve, connect }) => {
  const server = await serve((request, response) => {
    response
      .writeHead(413, { 'content-type': 'application/json' })
      .end('{"code":"payload_too_large","message":"at most 1 MB"}');
    request.resume();
  });
  const body = Readable.from(megabytes(50));
  const error = await errorOf(connect(server).browsers.fs.writeFile('a', body, { path: '/x' }));
  expect(error).toBeInstanceOf(ServiceError);
  expect(error).toMatchObject({ status: 413, code: 'payload_too_large' });
  expect(body.destroyed).toBe(true);
});

test('throws a ConnectionError if an upload from any source breaks off', async ({ serve, connect }) => {
  const server = await serve((request) => void request.once('data', () => request.socket.end()));
  for (const body of [
    megabytes(50),
    Readable.from(megabytes(50)),
    new Blob([Buffer.alloc(20 * megabyte)]).stream(),
    Buffer.alloc(20 * megabyte),
  ]) {
    const error = await errorOf(connect(server).browsers.fs.writeFile('a', body, { path: '/x' }, { maxRetries: 0 }));
    expect(error).toBeInstanceOf(ConnectionError);
  }
});

test('destroys the request body of a call that fails before sending', async ({ connect }) => {
  const { fs } = connect({ url: 'http://127.0.0.1:1' }).browsers;
  const unreachable = new Readable({ read: () => {} });
  await expect(fs.writeFile('a', unreachable, { path: '/x' })).rejects.toThrow(ConnectionError);
  const aborted = new Readable({ read: () => {} });
  await expect(
    fs.writeFile('a', aborted, { path: '/x' }, { signal: AbortSignal.abort(new Error('too late')) }),
  ).rejects.toThrow('too late');
  expect([unreachable.destroyed, aborted.destroyed]).toEqual([true, true]);
});

test('returns undefined for an answer without a body, of any status', async ({ serve, connect }) => {
  const server = await serve(
    { status: 204 },
    { status: 201, text: '' },
    { status: 200, json: { ok: true } },
    { json: { session_id: 's' } },
  );
  const client = connect(server);
  expect(await client.browserPools.acquire('ci')).toBeUndefined();
  expect(await client.browsers.fs.createDirectory('a', { path: '/x' })).toBeUndefined();
  expect(await client.browsers.computer.typeText('a', { text: 'x' })).toBeUndefined();
  expect(await client.browserPools.acquire('ci')).toEqual({ session_id: 's' });
});

async function* breaking() {
  yield Buffer.from('x');
  throw new Error('the source broke');
}
