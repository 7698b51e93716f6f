import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '../../../src/client/index.ts';
import { canSeparate, startSeparateService } from '../../support/processes/separate-service.ts';
import { told } from '../../support/service/watches.ts';
import { expect, test } from '../../support/worker.ts';

test('files, archives and events reach a service on another machine', async ({}, testInfo) => {
  test.skip(!canSeparate, 'needs a file system of its own for the service');
  const hidden = testInfo.outputPath('hidden');
  await using service = await startSeparateService(hidden);
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const { session_id: id } = await client.browsers.create({ headless: true });
  const { fs } = client.browsers;
  const { watch_id } = await fs.watch.start(id, { path: '/', recursive: true });
  const events = fs.watch.events(id, watch_id)[Symbol.asyncIterator]();

  const source = Buffer.alloc(5_000_000, 'source');
  const path = join(hidden, 'source');
  await writeFile(path, source);
  const files = ['a', 'b'].map((name) => ({ dest_path: `/there/${name}`, file: createReadStream(path) }));
  await fs.upload(id, { files });
  const seen = [];
  while (seen.length < 5) seen.push((await events.next()).value);
  const created = ['CREATE /there/', 'CREATE /there/a', 'CREATE /there/b'];
  expect(told(seen).toSorted()).toEqual([...created, 'WRITE /there/a', 'WRITE /there/b']);
  const zip = await fs.downloadDirZip(id, { path: '/there' });
  await fs.uploadZip(id, { dest_path: '/back', zip_file: zip.stream });
  const back = await (await fs.readFile(id, { path: '/back/b' })).bytes();
  expect(back.equals(source)).toBe(true);

  await fs.watch.stop(id, watch_id);
  let next = await events.next();
  while (!next.done) next = await events.next();
});
