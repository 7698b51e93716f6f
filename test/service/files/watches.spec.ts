import { request } from 'node:http';
import { join } from 'node:path';
import { appendFileSync, writeFileSync } from 'node:fs';
import { expect } from '@playwright/test';
import type { FileEvent } from '../../../src/contract/files.ts';
import { openStream } from '../../support/http/event-streams.ts';
import { startTestService } from '../../support/service/service.ts';
import { test } from '../../support/service/uploads.ts';
import { told } from '../../support/service/watches.ts';

test('starts, reads and stops a watch of a directory', async ({ service, service: { call }, fs, root }) => {
  const started = await call('POST', `${fs}/watch`, { path: '/home/user' });
  expect(started.status).toBe(201);
  const watch = `${fs}/watch/${started.body.watch_id}`;
  expect(started.body.watch_id).toMatch(/^[a-z0-9]{24}$/);
  writeFileSync(join(root, 'home/user/early'), '');
  const stream = await openStream<FileEvent>(service, `${watch}/events`);
  expect(stream.response.headers).toMatchObject({
    'content-type': 'text/event-stream',
    'x-sse-content-type': 'application/json',
  });
  await expect.poll(() => told(stream.events)).toEqual(['CREATE /home/user/early']);
  await call('PUT', `${fs}/write_file?path=/home/user/a`, 'x');
  await call('PUT', `${fs}/delete_file`, { path: '/home/user/early' });
  await expect
    .poll(() => told(stream.events).slice(1).toSorted())
    .toEqual(['CREATE /home/user/a', 'DELETE /home/user/early', 'WRITE /home/user/a']);

  // The watch continues after a reader left, and opens a stream before the next event.
  stream.close();
  expect(await call('HEAD', `${watch}/events`)).toMatchObject({ status: 200, body: '' });
  const next = await openStream<FileEvent>(service, `${watch}/events`);
  expect([next.response.statusCode, next.events]).toEqual([200, []]);
  appendFileSync(join(root, 'home/user/a'), 'y');
  await expect.poll(() => told(next.events)).toEqual(['WRITE /home/user/a']);
  expect((await call('DELETE', watch)).status).toBe(204);
  await next.ended;
  expect(await call('DELETE', watch)).toMatchObject({
    status: 404,
    body: { message: expect.stringContaining('watch not found') },
  });
  expect((await call('GET', `${watch}/events`)).status).toBe(404);
});

test('ends watches with their lease, and at once when the service stops', async () => {
  await using service = await startTestService();
  const { call } = service;
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', {});
  const fs = `/browsers/${leased.session_id}/fs`;
  const openWatch = async () => {
    const { body } = await call('POST', `${fs}/watch`, { path: '/' });
    const events = `${fs}/watch/${body.watch_id}/events`;
    return { events, stream: await openStream(service, events) };
  };
  const { events, stream } = await openWatch();
  await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id, reuse: true });
  await stream.ended;
  const { body: again } = await call('POST', '/browser_pools/ci/acquire', {});
  expect(again.session_id).toBe(leased.session_id);
  expect((await call('GET', events)).status).toBe(404);
  const { stream: last } = await openWatch();
  await service.close();
  await last.ended;
});

test("answers other calls while a watch's reader reads nothing @long", async ({ service, call, fs, root }) => {
  const { body } = await call('POST', `${fs}/watch`, { path: '/home/user' });
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const unread = request(`${service.url}${fs}/watch/${body.watch_id}/events`, { headers, agent: false }).end();
  await new Promise((resolve) => unread.once('response', resolve));
  const before = process.memoryUsage().rss;
  // Some megabytes of events: more than the buffers of the sockets.
  const name = 'x'.repeat(200);
  for (let index = 0; index < 20_000; index += 1) {
    writeFileSync(join(root, `home/user/${name}${index}`), '');
    if (index % 500 === 0) expect((await call('GET', `${fs}/file_info?path=/home`)).status).toBe(200);
  }
  expect((process.memoryUsage().rss - before) / 1024 / 1024).toBeLessThan(150);
  expect((await call('DELETE', `${fs}/watch/${body.watch_id}`)).status).toBe(204);
  unread.destroy();
});

test('limits a session to 100 watches at a time, and ends them with it', async ({ service }) => {
  const { body } = await service.call('POST', '/browsers', {});
  const fs = `/browsers/${body.session_id}/fs`;
  const start = () => service.call('POST', `${fs}/watch`, { path: '/tmp' });
  const started = await Promise.all(Array.from({ length: 100 }, start));
  expect(new Set(started.map(({ status }) => status))).toEqual(new Set([201]));
  expect(await start()).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('100 watches already: stop one') },
  });
  await service.call('DELETE', `${fs}/watch/${started[0]!.body.watch_id}`);
  expect((await start()).status).toBe(201);
  const events = `${fs}/watch/${started[1]!.body.watch_id}/events`;
  const stream = await openStream(service, events);
  expect((await service.call('DELETE', `/browsers/${body.session_id}`)).status).toBe(204);
  await stream.ended;
  expect((await service.call('GET', events)).status).toBe(404);
});

test('refuses wrong paths and fields of a watch', async ({ call, fs }) => {
  const watch = (body: unknown) => call('POST', `${fs}/watch`, body);
  expect(await watch({ path: 'home' })).toMatchObject({
    status: 400,
    body: { details: [{ message: expect.stringMatching(/^path: .*absolute/) }] },
  });
  expect((await watch({})).status).toBe(400);
  expect((await watch(undefined)).status).toBe(400);
  expect((await watch({ path: '/', recursive: 'yes' })).status).toBe(400);
  expect((await watch({ path: '/', depth: 2 })).body.details).toEqual([
    { code: 'invalid_input', message: 'depth: unknown field' },
  ]);
  expect(await watch({ path: '/nowhere' })).toMatchObject({
    status: 404,
    body: { message: 'path not found: "/nowhere"' },
  });
  expect((await watch({ path: '/../../etc' })).status).toBe(403);
  expect((await call('POST', '/browsers/nobody/fs/watch', { path: '/' })).status).toBe(404);
  expect((await call('GET', `${fs}/watch/nothing/events`)).status).toBe(404);
  expect((await call('DELETE', `${fs}/watch/nothing`)).status).toBe(404);
});
