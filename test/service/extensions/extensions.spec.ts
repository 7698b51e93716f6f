import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect } from '@playwright/test';
import Kernel, { ConflictError, NotFoundError, toFile } from '@onkernel/sdk';
import { createClient } from '../../../src/client/index.ts';
import { startService } from '../../../src/service/service.ts';
import { serve } from '../../support/http/serve.ts';
import { collect } from '../../support/service/apps.ts';
import { crxOf, extensionZip } from '../../support/views/extensions.ts';
import { dataDirectory, test } from '../../support/service/service.ts';
import { contentType, encoded, type Part } from '../../support/service/uploads.ts';

test.use({ serviceOptions: async ({}, use, testInfo) => use({ dataDirectory: dataDirectory(testInfo) }) });

test("stores an extension; the hosted service's SDK finds, downloads, deletes it", async ({ kernel }, testInfo) => {
  const zip = await extensionZip('one');
  const made = await kernel.extensions.upload({ file: await toFile(zip, 'one.zip'), name: 'One' });
  const checksum = createHash('sha256').update(zip).digest('hex');
  expect(made).toMatchObject({ name: 'One', size_bytes: zip.length, checksum, last_used_at: null });
  const unnamed = await kernel.extensions.upload({ file: await toFile(zip, 'one.zip') });
  expect(unnamed.name).toBeNull();
  const taken = kernel.extensions.upload({ file: await toFile(zip, 'x'), name: 'One' });
  await expect(taken).rejects.toThrow(ConflictError);

  const ids = async (query: object) => (await kernel.extensions.list(query)).getPaginatedItems().map(({ id }) => id);
  expect(await ids({})).toEqual([unnamed.id, made.id]);
  expect(await ids({ limit: 1, offset: 1 })).toEqual([made.id]);
  expect(await ids({ name: 'öne' })).toEqual([made.id]);
  expect(await ids({ query: 'NE' })).toEqual([made.id]);
  expect(await ids({ query: unnamed.id })).toEqual([unnamed.id]);
  expect(await kernel.extensions.get('One')).toEqual(made);
  const answer = await kernel.extensions.download(made.id);
  expect(answer.headers.get('content-type')).toBe('application/octet-stream');
  expect(zip.equals(Buffer.from(await answer.arrayBuffer()))).toBe(true);

  await kernel.extensions.delete('One');
  await kernel.extensions.delete(unnamed.id);
  await expect(kernel.extensions.get(made.id)).rejects.toThrow(NotFoundError);
  await expect(kernel.extensions.download(made.id)).rejects.toThrow(NotFoundError);
  expect(readdirSync(join(dataDirectory(testInfo), 'extensions'))).toEqual([]);
});

test('keeps an extension over a restart, hidden from other projects', async ({ service, client: first }, testInfo) => {
  const zip = await extensionZip('one');
  const { id } = await first.extensions.upload({ file: zip, name: 'one' });
  const project = await first.projects.create({ name: 'other' });
  await using other = createClient({ baseURL: service.url, apiKey: service.apiKey, projectId: project.id });
  for (const call of [other.extensions.retrieve(id), other.extensions.download('one'), other.extensions.delete(id)])
    await expect(call).rejects.toMatchObject({ status: 404 });
  for (const selector of [{ id }, { name: 'one' }])
    await expect(other.browsers.create({ extensions: [selector] })).rejects.toMatchObject({ status: 400 });
  await other.extensions.upload({ file: await extensionZip('one'), name: 'one' });
  await expect(first.projects.delete(project.id)).rejects.toThrow(/extensions/);
  await service.close();

  await using again = await startService({ dataDirectory: dataDirectory(testInfo) });
  await using client = createClient({ baseURL: again.url, apiKey: again.apiKey });
  const { stream } = await client.extensions.download('one');
  expect(zip.equals(await buffer(stream))).toBe(true);
  expect(await collect(client.extensions.list())).toMatchObject([{ id, name: 'one' }]);
});

test('accepts extensions with the form field names of other clients', async ({ service: { call } }) => {
  const zip = await extensionZip('one');
  const { body: session } = await call('POST', '/browsers', {});
  const path = `/browsers/${session.session_id}/extensions`;
  const pairs = ['one', 'one'];
  for (const names of [
    ['extensions.name', 'extensions.zip_file'],
    ['extensions[][name]', 'extensions[][zip_file]'],
  ] as const) {
    const parts = pairs.flatMap((name): Part[] => [
      [names[0], name],
      [names[1], zip, 'file'],
    ]);
    const answer = await call('POST', path, encoded(parts), { 'content-type': contentType });
    // The service has read two extensions: it refuses only that both have one name.
    expect(answer).toMatchObject({ status: 400, body: { message: /two of them have the same name/ } });
  }
});

test('downloads an extension from the Chrome Web Store that can be uploaded unchanged', async ({}, testInfo) => {
  const id = 'abcdefghijklmnopabcdefghijklmnop';
  const page = `https://chromewebstore.google.com/detail/some-name/${id}`;
  const zip = await extensionZip('one');
  const asked: string[] = [];
  const store = await serve((request, response) => {
    asked.push(request.url ?? '');
    if (request.url?.includes('os=mac')) response.writeHead(204).end();
    else if (request.url?.includes('os=win')) response.end('no extension');
    else response.end(crxOf(zip));
  });
  const chromeStore = `${store.url}/crx`;
  await using service = await startService({ dataDirectory: testInfo.outputPath('with-store'), chromeStore });
  const kernel = new Kernel({ baseURL: service.url, apiKey: service.apiKey, maxRetries: 0 });
  const answer = await kernel.extensions.downloadFromChromeStore({ url: page });
  expect(zip.equals(Buffer.from(await answer.arrayBuffer()))).toBe(true);
  expect(new URL(asked[0]!, chromeStore).searchParams.get('x')).toBe(`id=${id}&installsource=ondemand&uc`);

  const fetched = (query: { url: string; os?: 'mac' | 'win' }) => kernel.extensions.downloadFromChromeStore(query);
  await expect(fetched({ url: page, os: 'mac' })).rejects.toMatchObject({ status: 400, message: /has no extension/ });
  await expect(fetched({ url: page, os: 'win' })).rejects.toMatchObject({ status: 503, message: /CRX3/ });
  for (const url of [`http://127.0.0.1/detail/${id}`, 'https://chromewebstore.google.com/detail/x'])
    await expect(fetched({ url })).rejects.toMatchObject({ status: 400, message: /url: must be the page/ });
  await store[Symbol.asyncDispose]();
  await expect(fetched({ url: page })).rejects.toMatchObject({ status: 503, message: /can reach the internet/ });
});
