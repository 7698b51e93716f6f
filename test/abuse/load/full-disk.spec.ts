import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../../../src/client/index.ts';
import { startService } from '../../../src/service/service.ts';
import { appOf, collect, deployed, started } from '../../support/service/apps.ts';
import { TestClock } from '../../support/service/clock.ts';
import { openDirectory } from '../../support/processes/open-directory.ts';
import { processesWith } from '../../support/processes/processes.ts';
import { callerOf } from '../../support/service/service.ts';
import { expect, test as base } from '../../support/worker.ts';

/** A data directory on its own disk of 64 MiB. */
const test = base.extend<{ disk: string }>({
  disk: async ({}, use) => {
    // The files of sessions must be on it, too.
    await using open = await openDirectory();
    const directory = join(open.path, 'data');
    mkdirSync(directory);
    const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'none', directory]).status === 0;
    test.skip(!isMounted, 'file systems cannot be mounted here');
    await use(directory);
    spawnSync('umount', ['--lazy', directory]);
  },
});

/** Writes until nothing more fits. */
function fill(directory: string): string {
  const filler = join(directory, 'filler');
  const file = openSync(filler, 'w');
  for (const size of [1024 * 1024, 4096, 1]) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size, 1));
    } catch {
      // A block of this size no longer fits.
    }
  }
  closeSync(file);
  return filler;
}

test('on a full disk, writing operations fail and reading ones work; all work with space again', async ({ disk }) => {
  await using service = await startService({ dataDirectory: disk });
  const call = callerOf(service);
  const { body: session } = await call('POST', '/browsers', {});
  const fs = `/browsers/${session.session_id}/fs`;
  const { body: recorded } = await call('POST', '/browsers', {});
  expect((await call('POST', `/browsers/${recorded.session_id}/replays`, {})).status).toBe(201);
  await call('PUT', `${fs}/write_file?path=/tmp/kept`, 'kept');
  await call('POST', '/profiles', { name: 'kept' });
  const { body: key } = await call('POST', '/org/api_keys', { name: 'kept' });
  const { body: connection } = await call('POST', '/auth/connections', { profile_name: 'kept', domain: 'example.com' });
  const filler = fill(disk);

  for (const answer of [
    await call('POST', '/profiles', { name: 'new' }),
    await call('PATCH', '/profiles/kept', { name: 'renamed' }),
    await call('DELETE', '/profiles/kept'),
    await call('POST', '/browser_pools', { size: 1, name: 'new' }),
    await call('POST', '/org/projects', { name: 'new' }),
    await call('POST', '/org/api_keys', { name: 'new' }),
    await call('POST', `/org/api_keys/${key.id}/rotate`, {}),
    await call('PUT', `${fs}/write_file?path=/tmp/kept`, 'x'.repeat(100_000)),
    await call('POST', `/browsers/${session.session_id}/replays`, {}),
    await call('DELETE', `/auth/connections/${connection.id}`),
  ]) {
    expect(answer).toMatchObject({
      status: 507,
      body: { code: 'insufficient_storage', message: expect.stringMatching(/full|no space/) },
    });
  }
  // Neither the recording nor its end can be stored.
  expect((await call('DELETE', `/browsers/${recorded.session_id}`)).status).toBe(204);
  expect((await call('GET', '/profiles')).body).toMatchObject([{ name: 'kept' }]);
  expect((await call('GET', '/browser_pools')).body).toEqual([]);
  expect((await call('GET', `/auth/connections/${connection.id}`)).status).toBe(200);
  expect((await call('GET', `${fs}/read_file?path=/tmp/kept`)).body).toBe('kept');

  rmSync(filler);
  expect((await call('POST', '/profiles', { name: 'new' })).status).toBe(201);
  expect((await call('POST', '/browser_pools', { size: 1, name: 'new' })).status).toBe(201);
  expect((await call('POST', '/browsers', { name: 'new' })).status).toBe(200);
  expect((await call('DELETE', `/auth/connections/${connection.id}`)).status).toBe(204);
});

test("on a full disk, an invocation reports that it can't store its end, and leaves no process", async ({ disk }) => {
  const clock = new TestClock();
  await using service = await startService({ dataDirectory: disk, clock, auditRetentionDays: 0 });
  await using client = createClient({ ...service, baseURL: service.url, maxRetries: 0 });
  const wait = "() => { console.log('up'); return new Promise((done) => setTimeout(done, 600_000)); }";
  await started(client, (await deployed(client, appOf({ wait }))).id);
  const looping = await deployed(client, "console.log('up'); for (;;);", { version: '2' });
  for await (const { event } of client.deployments.follow(looping.id)) if (event === 'log') break;
  const invocation = { app_name: 'app', action_name: 'wait' };
  const brief = await client.invocations.create({ ...invocation, async: true, async_timeout_seconds: 10 });
  const long = await client.invocations.create({ ...invocation, async: true, async_timeout_seconds: 3600 });
  const call = client.invocations.create(invocation);
  call.catch(() => {});
  await expect.poll(async () => (await collect(client.invocations.list({ status: 'running' }))).length).toBe(3);
  await client.browsers.create({ headless: true, timeout_seconds: 3600 });
  fill(disk);

  const logged: string[] = [];
  const original = console.error;
  console.error = (...parts: unknown[]) => void logged.push(parts.map(String).join(' '));
  try {
    clock.advance(100_000);
    await expect(call).rejects.toThrow(/507 insufficient_storage/);
    for (const what of [`invocation ${brief.id}`, `deployment ${looping.id}`]) {
      await expect
        .poll(() => logged, { timeout: 10_000 })
        .toContainEqual(expect.stringContaining(`of the ${what} could not be stored`));
    }
    expect(await client.invocations.retrieve(long.id)).toMatchObject({ status: 'running' });
    await service.close();
  } finally {
    console.error = original;
  }
  expect(processesWith(disk)).toEqual([]);
});

test('deletes expired files as soon as there is space, if the disk was full when they expired', async ({ disk }) => {
  const clock = new TestClock();
  await using service = await startService({ dataDirectory: disk, clock, auditRetentionDays: 0 });
  await using client = createClient({ ...service, baseURL: service.url });
  const { id } = await started(client, (await deployed(client, "throw new Error('broken')")).id);
  const filler = fill(disk);
  clock.jump(7 * 24 * 3600_000);
  clock.advance(3600_000);
  expect(await client.deployments.retrieve(id)).toMatchObject({ status: 'failed' });
  rmSync(filler);
  clock.advance(3600_000);
  await expect(client.deployments.retrieve(id)).rejects.toThrow(/404/);
});
