import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { createClient } from '../../../src/client/index.ts';
import { readServiceRecord } from '../../../src/service/process/start/data-directory.ts';
import { refusalOf } from '../../support/http/refusal.ts';
import { expectNoProcessWith, processesWith, sendSignal } from '../../support/processes/processes.ts';
import { callerOf, dataDirectory, type Call } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { sessionsDirectory } from '../../support/processes/sessions-directory.ts';
import { expect, test as base } from '../../support/worker.ts';

/** A life of the service, as a process of its own. */
type Life = { cli: CliProcess; url: string; apiKey: string; call: Call; kill: () => Promise<void> };

const test = base.extend<{ directory: string; start: (port?: string) => Promise<Life> }>({
  directory: async ({}, use, testInfo) => use(dataDirectory(testInfo)),
  start: async ({ directory }, use) => {
    const lives: CliProcess[] = [];
    await use(async (port = '0') => {
      const cli = new CliProcess(['serve', '--port', port, '--data-dir', directory], {
        env: { PLAYWRIGHT_POOL_API_KEY: '' },
      });
      lives.push(cli);
      const url = (await cli.firstLine()).replace(/^listening on /, '');
      const apiKey = readFileSync(join(directory, 'api-key'), 'utf8').trim();
      const kill = async () => {
        cli.child.kill('SIGKILL');
        await cli.exited;
      };
      return { cli, url, apiKey, call: callerOf({ url, apiKey }), kill };
    });
    await Promise.all(lives.map((cli) => cli[Symbol.asyncDispose]()));
    await expectNoProcessWith(directory);
  },
});

test('a service ends the browsers and encoders of its killed predecessor @long', async ({ start, directory }) => {
  const first = await start();
  const { body: session } = await first.call('POST', '/browsers', {});
  expect((await first.call('POST', `/browsers/${session.session_id}/replays`, {})).status).toBe(201);
  await expect.poll(() => processesWith(`${sessionsDirectory(directory)}/encoder-`).length).toBeGreaterThan(0);
  const sessions = sessionsDirectory(directory);
  // A stopped process doesn't notice that its service is gone.
  const orphans = processesWith(`${sessions}/`);
  sendSignal(orphans, 'SIGSTOP');
  const program = 'setInterval(() => {}, 1000); console.log()';
  const strangers = [`--user-data-dir=${sessions}-of-mine/a`, `${sessions}/a`].map((word) =>
    spawn(process.execPath, ['-e', program, '--', word]),
  );
  await Promise.all(strangers.map((stranger) => once(stranger.stdout, 'data')));
  await first.kill();
  // With namespaces, the kernel has ended the browsers, and only the stopped programs that entered them are left.
  expect(processesWith(`${sessions}/`).some((pid) => orphans.includes(pid))).toBe(true);

  const second = await start();
  const left = [...processesWith(directory), ...processesWith(sessions)].filter((pid) => pid !== second.cli.child.pid);
  expect(new Set(left)).toEqual(new Set(strangers.map(({ pid }) => pid)));
  expect(readdirSync(sessionsDirectory(directory))).toEqual([]);
  for (const stranger of strangers) stranger.kill();
  await Promise.all(strangers.map((stranger) => once(stranger, 'exit')));
});

test('after a kill, pools, profiles and settings stay, and sessions have ended @long', async ({ start }) => {
  const first = await start();
  const settings = { size: 2, name: 'ci', timeout_seconds: 30, stealth: true };
  const { body: pool } = await first.call('POST', '/browser_pools', settings);
  const { body: profile } = await first.call('POST', '/profiles', { name: 'ann' });
  const { body: leased } = await first.call('POST', '/browser_pools/ci/acquire', { name: 'mine' });
  const { body: replay } = await first.call('POST', `/browsers/${leased.session_id}/replays`, {});
  await first.kill();

  const second = await start();
  const { call } = second;
  expect(second.apiKey).toBe(first.apiKey);
  expect((await call('GET', '/profiles/ann')).body).toEqual({ ...(profile as object), storage_origins: [] });
  expect((await call('GET', '/browser_pools/ci')).body).toMatchObject({
    id: pool.id,
    browser_pool_config: pool.browser_pool_config,
  });
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.available_count).toBe(2);
  expect((await call('GET', '/browsers?status=all')).body).toEqual([]);
  const session = `/browsers/${leased.session_id}`;
  const notFound = { code: 'not_found' };
  for (const answer of [
    await call('GET', session),
    await call('GET', `${session}?include_deleted=true`),
    await call('DELETE', session),
    await call('GET', `${session}/fs/list_files?path=/`),
    await call('POST', `${session}/computer/screenshot`, {}),
  ])
    expect(answer).toMatchObject({ status: 404, body: { ...notFound, message: expect.stringContaining('has ended') } });
  const released = await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id });
  expect(released).toMatchObject({ status: 404, body: notFound });
  const error_message = expect.stringContaining('the service ended');
  expect((await call('GET', `${session}/replays`)).body).toMatchObject([
    { replay_id: replay.replay_id, finished_at: expect.any(String), error_message },
  ]);
  const address = leased.cdp_ws_url.replace(/:\d+\//, `:${new URL(second.url).port}/`);
  expect(await refusalOf(address)).toMatchObject({ status: 401 });

  const { body: again } = await call('POST', '/browser_pools/ci/acquire', { name: 'mine' });
  expect(again.session_id).not.toBe(leased.session_id);
});

test('a service removes half-written files of its killed predecessor @long', async ({ start, directory }) => {
  const first = await start();
  const { body: session } = await first.call('POST', '/browsers', {});
  const upload = request(`${first.url}/browsers/${session.session_id}/fs/write_file?path=/tmp/half`, {
    method: 'PUT',
    agent: false,
    headers: { authorization: `Bearer ${first.apiKey}`, 'content-length': 10_000_000 },
  });
  upload.on('error', () => {});
  upload.write(Buffer.alloc(1_000_000));
  const tmp = join(sessionDirectory(directory, session.session_id), 'root', 'tmp');
  await expect.poll(() => readdirSync(tmp)).toHaveLength(1);
  await first.kill();
  for (const name of ['api-key.4711.tmp', 'service.json.4711.tmp']) writeFileSync(join(directory, name), '{"pid"');
  writeFileSync(join(directory, 'replays', 'unknown'), 'x');

  await start();
  expect(readdirSync(directory).toSorted()).toEqual(
    expect.arrayContaining(['api-key', 'profiles', 'replays', 'service.db', 'service.json']),
  );
  expect(readdirSync(directory).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  for (const emptied of [join(directory, 'profiles'), join(directory, 'replays'), sessionsDirectory(directory)])
    expect(readdirSync(emptied), emptied).toEqual([]);
});

test("a killed service's successor has its data, and answers its repeatable calls", async ({ start, directory }) => {
  const first = await start();
  await first.call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: profile } = await first.call('POST', '/profiles', { name: 'ann' });
  await using client = createClient({ baseURL: first.url, apiKey: first.apiKey, maxRetries: 10 });
  await client.profiles.retrieve('ann');
  await first.kill();
  const answers = Promise.all([
    client.profiles.retrieve(profile.id),
    client.profiles.update(profile.id, { name: 'eve' }),
    client.browserPools.update('ci', { timeout_seconds: 42 }),
    client.browserPools.acquire('ci'),
  ]);
  await start(new URL(first.url).port);
  const [retrieved, renamed, pool, session] = await answers;
  expect(retrieved.id).toBe(profile.id);
  expect(renamed.name).toBe('eve');
  expect(pool.browser_pool_config.timeout_seconds).toBe(42);
  expect(session?.pool?.name).toBe('ci');
  expect(readdirSync(directory).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

test('a service leaves a directory that replaced its own alone @long', async ({ start, directory }) => {
  const first = await start();
  rmSync(directory, { recursive: true });
  const second = await start();
  const { body: profile } = await second.call('POST', '/profiles', { name: 'ann' });
  const { body: session } = await second.call('POST', '/browsers', {});
  first.cli.child.kill('SIGTERM');
  await first.cli.exited;

  expect(readServiceRecord(directory)).toEqual({ pid: second.cli.child.pid, url: second.url, apiKey: second.apiKey });
  expect((await second.call('GET', `/browsers/${session.session_id}/fs/list_files?path=/`)).status).toBe(200);
  await second.kill();
  const third = await start();
  expect((await third.call('GET', '/profiles')).body).toEqual([profile]);
});
