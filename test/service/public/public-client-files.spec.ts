import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import Kernel, { BadRequestError, NotFoundError, toFile } from '@onkernel/sdk';
import { openPromise } from 'yauzl';
import { createClient } from '../../../src/client/index.ts';
import { canSeparate, startSeparateService } from '../../support/processes/separate-service.ts';
import { test as base } from '../../support/service/service.ts';
import { told } from '../../support/service/watches.ts';

const test = base.extend<{ kernel: Kernel }>({
  kernel: async ({ service }, use) => use(new Kernel({ baseURL: service.url, apiKey: service.apiKey })),
});

test("the hosted service's SDK watches a directory and reads its events", async ({ kernel }) => {
  const { session_id: id } = await kernel.browsers.create();
  const { fs } = kernel.browsers;
  const { watch_id } = await fs.watch.start(id, { path: '/home', recursive: true });
  const stream = await fs.watch.events(watch_id!, { id });
  await fs.writeFile(id, 'x', { path: '/home/new/a' });
  await fs.deleteDirectory(id, { path: '/home/user' });
  // One write can be two events.
  const events = new Set<string>();
  for await (const event of stream) {
    for (const line of told([event as Parameters<typeof told>[0][number]])) events.add(line);
    if (events.size === 5) break;
  }
  expect([...events].toSorted()).toEqual([
    'CREATE /home/new/',
    'CREATE /home/new/a',
    'DELETE /home/user/',
    'DELETE /home/user/Downloads/',
    'WRITE /home/new/a',
  ]);
  // Leaving the loop above doesn't end the watch.
  const next = await fs.watch.events(watch_id!, { id });
  await fs.watch.stop(watch_id!, { id });
  for await (const event of next) expect(event).toBeUndefined();
  await expect(fs.watch.stop(watch_id!, { id })).rejects.toThrow(NotFoundError);
  await expect(fs.watch.start(id, { path: '/nowhere' })).rejects.toThrow(/404 path not found/);
});

test("the hosted service's SDK uploads files and archives, and downloads directories", async ({ kernel }, testInfo) => {
  const { session_id: id } = await kernel.browsers.create();
  const { fs } = kernel.browsers;
  const source = testInfo.outputPath('source');
  await writeFile(source, Buffer.alloc(1_000_000, 'source'));
  await fs.upload(id, {
    files: [
      { dest_path: '/home/user/made/a', file: await toFile(Buffer.from('grüße'), 'any name') },
      { dest_path: '/home/user/made/b', file: createReadStream(source) },
      { dest_path: '/home/user/made/c', file: new File([], 'empty') },
    ],
  });
  expect(
    (await fs.listFiles(id, { path: '/home/user/made' })).map(({ name, size_bytes }) => [name, size_bytes]),
  ).toEqual([
    ['a', 7],
    ['b', 1_000_000],
    ['c', 0],
  ]);
  const answer = await fs.downloadDirZip(id, { path: '/home' });
  expect(answer.headers.get('content-type')).toBe('application/zip');
  const archive = testInfo.outputPath('archive.zip');
  await writeFile(archive, Buffer.from(await answer.arrayBuffer()));
  const names = [];
  for await (const { fileName } of (await openPromise(archive)).eachEntry()) names.push(fileName);
  expect(names).toEqual(['user/', 'user/Downloads/', 'user/made/', 'user/made/a', 'user/made/b', 'user/made/c']);

  await fs.uploadZip(id, { dest_path: '/copy', zip_file: createReadStream(archive) });
  expect(await (await fs.readFile(id, { path: '/copy/user/made/a' })).text()).toBe('grüße');
  expect((await fs.fileInfo(id, { path: '/copy/user/made/b' })).size_bytes).toBe(1_000_000);
  await expect(
    fs.uploadZip(id, { dest_path: '/copy', zip_file: await toFile(Buffer.from('none'), 'x') }),
  ).rejects.toThrow(/invalid zip file/);
  const relative = fs.upload(id, { files: [{ dest_path: 'relative', file: await toFile(Buffer.from('x'), 'x') }] });
  await expect(relative).rejects.toThrow(BadRequestError);
  await expect(fs.downloadDirZip(id, { path: '/nowhere' })).rejects.toThrow(NotFoundError);
});

base('files, archives and events reach a service on another machine', async ({}, testInfo) => {
  base.skip(!canSeparate, 'needs a file system of its own for the service');
  const hidden = testInfo.outputPath('hidden');
  await using service = await startSeparateService(hidden);
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const { session_id: id } = await client.browsers.create({ headless: true });
  const { fs } = client.browsers;
  const { watch_id } = await fs.watch.start(id, { path: '/', recursive: true });
  const events = fs.watch.events(id, watch_id)[Symbol.asyncIterator]();

  await writeFile(join(hidden, 'source'), Buffer.alloc(5_000_000, 'source'));
  const files = ['a', 'b'].map((name) => ({
    dest_path: `/there/${name}`,
    file: createReadStream(join(hidden, 'source')),
  }));
  await fs.upload(id, { files });
  const seen = [];
  while (seen.length < 5) seen.push((await events.next()).value);
  expect(told(seen).toSorted()).toEqual([
    'CREATE /there/',
    'CREATE /there/a',
    'CREATE /there/b',
    'WRITE /there/a',
    'WRITE /there/b',
  ]);
  const zip = await fs.downloadDirZip(id, { path: '/there' });
  await fs.uploadZip(id, { dest_path: '/back', zip_file: zip.stream });
  expect((await (await fs.readFile(id, { path: '/back/b' })).bytes()).equals(Buffer.alloc(5_000_000, 'source'))).toBe(
    true,
  );

  await fs.watch.stop(id, watch_id);
  let next = await events.next();
  while (!next.done) next = await events.next();
});
