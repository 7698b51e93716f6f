import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect } from '@playwright/test';
import { type UploadFile, ServiceError } from '../../src/client/index.ts';
import { errorOf, test } from './recording-server.ts';

const megabyte = 1024 * 1024;

/** The parts of a body, as another implementation reads them. */
async function partsOf({
  body,
  headers,
}: {
  body: string;
  headers: Record<string, unknown>;
}): Promise<[string, string | File][]> {
  const form = await new Response(body, { headers: { 'content-type': String(headers['content-type']) } }).formData();
  return [...form.entries()];
}

test('sends bytes, blobs and streams as form files with brackets, after all texts', async ({ serve, connect }) => {
  const server = await serve({ status: 201 });
  const bytes = new TextEncoder().encode('grüße');
  const files: UploadFile[] = [bytes, Buffer.from(bytes), new Blob([bytes]), new File([bytes], 'x'), Readable.from([bytes]), new Blob([bytes]).stream(), (async function* () { yield bytes; })()]; // prettier-ignore
  await connect(server).browsers.fs.upload('a', {
    files: files.map((file, index) => ({ file, dest_path: `/ä "${index}"` })),
  });
  const call = server.calls[0]!;
  expect(call).toMatchObject({ method: 'POST', url: '/browsers/a/fs/upload', headers: { accept: '*/*' } });
  const parts = await partsOf(call);
  expect(parts.map(([name]) => name)).toEqual(
    ['dest_path', 'file'].flatMap((field) => files.map((_, index) => `files[${index}][${field}]`)),
  );
  expect(parts[1]![1]).toBe('/ä "1"');
  for (const [, file] of parts.filter(([name]) => name.endsWith('[file]'))) {
    expect(file).toMatchObject({ type: 'application/octet-stream' });
    expect(await (file as File).text()).toBe('grüße');
  }
});

test('keeps quotes and line breaks of a field name inside the name, and sends no undefined', async ({
  serve,
  connect,
}) => {
  const server = await serve({ status: 201 });
  const fields = { 'a"b\r\nc: d': 'x', dest_path: '/a', unset: undefined, zip_file: Buffer.from('zip') };
  await connect(server).browsers.fs.uploadZip('a', fields);
  expect((await partsOf(server.calls[0]!)).map(([name]) => name)).toEqual(['a"b\r\nc: d', 'dest_path', 'zip_file']);
});

test('sends form files given as bytes again in a retry, but not those given as streams', async ({ serve, connect }) => {
  const server = await serve({
    status: 503,
    json: { code: 'unavailable', message: 'not yet' },
    headers: { 'retry-after': '0' },
  });
  const { fs } = connect(server, { maxRetries: 2 }).browsers;
  const upload = (file: UploadFile) => errorOf(fs.uploadZip('a', { dest_path: '/a', zip_file: file }));
  expect(await upload(Buffer.alloc(3 * megabyte, 'x'))).toMatchObject({ status: 503 });
  expect(server.calls).toHaveLength(3);
  expect(
    new Set(server.calls.map(({ headers, body }) => `${headers['content-length']} ${headers['content-type']} ${body}`))
      .size,
  ).toBe(1);
  expect(server.calls[0]!.headers['content-length']).toBe(String(Buffer.byteLength(server.calls[0]!.body)));
  expect(await upload(Readable.from([Buffer.from('x')]))).toMatchObject({ status: 503 });
  expect(server.calls).toHaveLength(4);
});

test('streams an upload of 100 MB from the disk', async ({ serve, connect }, testInfo) => {
  let received = 0;
  const server = await serve(async (request: IncomingMessage, response) => {
    for await (const chunk of request) received += (chunk as Buffer).length;
    response.writeHead(201).end();
  });
  const source = testInfo.outputPath('source');
  await writeFile(source, randomBytes(50 * megabyte));
  const before = process.memoryUsage().rss;
  let highest = before;
  const timer = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), 5);
  const files = ['/a', '/b'].map((dest_path) => ({ dest_path, file: createReadStream(source) }));
  await connect(server).browsers.fs.upload('a', { files });
  clearInterval(timer);
  expect(received).toBeGreaterThan(100 * megabyte);
  expect(highest - before).toBeLessThan(64 * megabyte);
  expect(files.every(({ file }) => file.destroyed)).toBe(true);
});

test('rejects with the error of a failing file stream, and closes the other files', async ({ serve, connect }) => {
  const server = await serve((request) => request.resume());
  const { fs } = connect(server).browsers;
  const other = new Readable({ read() {} });
  const files = [createReadStream('/no/such/file'), other].map((file, index) => ({ dest_path: `/${index}`, file }));
  expect(await errorOf(fs.upload('a', { files }))).toMatchObject({ code: 'ENOENT', path: '/no/such/file' });
  expect(other.destroyed).toBe(true);
});

test("throws the service's answer if it refuses an upload before it ends", async ({ serve, connect }) => {
  const server = await serve((request, response) => {
    response
      .writeHead(413, { 'content-type': 'application/json' })
      .end('{"code":"payload_too_large","message":"at most 1 MB"}');
    request.resume();
  });
  const file = Readable.from(
    (function* () {
      for (let index = 0; index < 50; index += 1) yield Buffer.alloc(megabyte);
    })(),
  );
  const error = await errorOf(connect(server).browsers.fs.upload('a', { files: [{ dest_path: '/a', file }] }));
  expect(error).toBeInstanceOf(ServiceError);
  expect(error).toMatchObject({ status: 413 });
  expect(file.destroyed).toBe(true);
});

test('refuses a value that is not a form before sending', async ({ serve, connect }) => {
  const server = await serve({ status: 201 });
  const { fs } = connect(server).browsers;
  // @ts-expect-error no body
  await expect(fs.upload('a')).rejects.toThrow(TypeError);
  // @ts-expect-error no form
  await expect(fs.upload('a', 'text')).rejects.toThrow('an object with the fields');
  expect(server.calls).toHaveLength(0);
});
