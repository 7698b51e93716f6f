import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { createClient } from '../../../src/client/index.ts';
import { AppLogs } from '../../../src/service/apps/app-logs.ts';
import { LogLines } from '../../../src/service/apps/process/log-lines.ts';
import { sinceMicroseconds } from '../../../src/contract/since.ts';
import { AppLogStore } from '../../../src/service/apps/app-logs-table.ts';
import { openDatabase } from '../../../src/service/database/database.ts';
import { appOf, collect, deployed, startApps, started, test } from '../../support/service/apps.ts';
import { TestClock } from '../../support/service/clock.ts';
import { openStream } from '../../support/http/event-streams.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { dataDirectory } from '../../support/service/service.ts';
import { isLong } from '../../support/processes/long-form.ts';

type Told = { event: string; timestamp: string; message?: string };

const lines = (events: Told[]) => events.flatMap(({ event, message }) => (event === 'log' ? [message] : []));

test('three followers get every log line once and in order although a fourth one reads nothing', async ({}, testInfo) => {
  test.setTimeout(240_000);
  const count = isLong ? 100_000 : 500;
  const apiKey = 'a-key-for-this-test';
  await using serving = new CliProcess(['serve', '--data-dir', dataDirectory(testInfo)], {
    env: { PLAYWRIGHT_POOL_API_KEY: apiKey },
  });
  const url = (await serving.firstLine()).replace('listening on ', '');
  await using client = createClient({ baseURL: url, apiKey });
  const source = appOf({
    write: `({ count }) => { for (let line = 0; line < count; line += 1) console.log('line ' + line + ' ' + 'x'.repeat(40)); }`,
  });
  const { id } = await started(client, (await deployed(client, source)).id);
  const headers = { authorization: `Bearer ${apiKey}` };
  const idle = get(`${url}/deployments/${id}/events`, { agent: false, headers });
  idle.on('error', () => {}).on('response', (response) => response.pause());

  const payload = `{"count":${count}}`;
  const invocation = await client.invocations.create({ app_name: 'app', action_name: 'write', payload, async: true });
  const byPublicClient = async () => {
    const kernel = new Kernel({ baseURL: url, apiKey });
    return collect((await kernel.invocations.follow(invocation.id)) as AsyncIterable<Told>);
  };
  const byHand = async () => {
    const answer = await fetch(`${url}/invocations/${invocation.id}/events`, { headers });
    const frames = (await answer.text()).split('\n\n').filter((frame) => frame !== '' && frame !== ':');
    return frames.map((frame) => JSON.parse(frame.slice('data: '.length)) as Told);
  };
  const followers = await Promise.all([collect(client.invocations.follow(invocation.id)), byPublicClient(), byHand()]);
  for (const events of followers) {
    const messages = lines(events);
    expect(messages).toHaveLength(count);
    expect(messages.findIndex((message, line) => message !== `line ${line} ${'x'.repeat(40)}`)).toBe(-1);
    expect(events.at(-1)).toMatchObject({ event: 'invocation_state', invocation: { status: 'succeeded' } });
  }
  const stamps = followers[0].flatMap(({ event, timestamp }) => (event === 'log' ? [timestamp] : []));
  expect(new Set(stamps).size).toBe(count);
  expect(stamps.findIndex((stamp, line) => line > 0 && stamp <= stamps[line - 1]!)).toBe(-1);
  idle.destroy();
  const peak = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${serving.child.pid}/status`, 'utf8'))?.[1]) / 1024;
  testInfo.annotations.push({ type: 'peak memory of the service', description: `${Math.round(peak)} MiB` });
  expect(peak).toBeLessThan(300);
});

test('serves calls while an application floods its log', async ({ client, deploy, invoke }) => {
  await deploy(appOf({ fine: '() => 1' }));
  const { id } = await deployed(client, "for (;;) console.log('again and again');", { version: 'flood' });
  for await (const event of client.deployments.follow(id)) if (event.event === 'log') break;
  const times: number[] = [];
  for (let call = 0; call < 20; call += 1) {
    const startedAt = performance.now();
    await client.deployments.retrieve(id);
    times.push(performance.now() - startedAt);
  }
  // A busy machine may delay one of them.
  expect(times.toSorted((a, b) => b - a)[1]).toBeLessThan(2000);
  expect(await invoke('fine')).toMatchObject({ status: 'succeeded' });
  await client.deployments.delete(id);
  expect(await client.deployments.retrieve(id)).toMatchObject({ status: 'stopped' });
});

test('a log stream sends all lines, or those since a time, application and state, and heartbeats', async ({}, testInfo) => {
  const warnings: string[] = [];
  const warn = ({ name }: Error) => void warnings.push(name);
  process.on('warning', warn);
  const clock = new TestClock();
  await using client = await startApps(testInfo, { clock });
  const say = `async (text) => {
    process.stdout.write(text);
    console.error('to stderr');
    await new Promise((done) => process.stdout.write('no end', done));
  }`;
  const { id } = await started(client, (await deployed(client, appOf({ say }, "console.log('loaded')"))).id);
  const path = `/deployments/${id}/events`;
  const stream = await openStream<Told>(client.service, path);
  const told = () => stream.events.map(({ event, message }) => `${event}: ${message}`);
  await expect.poll(told).toEqual(['log: loaded', 'app_version_summary: app latest: say', 'deployment_state: running']);
  clock.advance(15_000);
  await expect.poll(() => told().at(-1)).toBe('sse_heartbeat: nothing new');

  const long = 'ä'.repeat(100_000);
  const payload = JSON.stringify(`one\r\n\n${long}\ntwo\n`);
  const invocation = await client.invocations.create({ app_name: 'app', action_name: 'say', payload });
  const events = await collect(client.invocations.follow(invocation.id));
  const written = lines(events);
  expect(written).toHaveLength(7);
  expect(written).toEqual(
    expect.arrayContaining(['', 'loaded', 'no end', 'one', 'to stderr', 'two', long.slice(0, 65_536)]),
  );
  await expect.poll(told).toContain('log: no end');

  clock.advance(1000);
  const read = async (since: string) => {
    const found = await openStream<Told>(client.service, `${path}?since=${encodeURIComponent(since)}`);
    await expect.poll(() => found.events.some(({ event }) => event === 'deployment_state')).toBe(true);
    found.close();
    return lines(found.events);
  };
  expect(await read('1h')).toEqual(['loaded', ...written]);
  const third = events.filter(({ event }) => event === 'log')[2]!;
  expect(await read(third.timestamp)).toEqual(written.slice(2));
  expect(await read('0s')).toEqual([]);
  await expect(collect(client.deployments.follow(id, { since: '5d' }))).rejects.toMatchObject({
    code: 'bad_request',
    details: [{ message: expect.stringMatching(/^since: must be an RFC 3339 timestamp, or a duration/) }],
  });

  await client.deployments.delete(id);
  await stream.ended;
  expect(told().at(-1)).toBe('deployment_state: stopped: it was deleted');
  const again = await openStream<Told>(client.service, path);
  await again.ended;
  expect(lines(again.events)).toEqual(['loaded', ...written]);
  process.off('warning', warn);
  expect(warnings).not.toContain('MaxListenersExceededWarning');
});

test("accepts each form of the parameter since that the hosted service's command line sends", () => {
  const now = Date.parse('2026-01-03T00:00:00Z');
  for (const [text, time] of Object.entries({
    '2026-01-02': '2026-01-02T00:00:00Z',
    '2026-01-02T15:04': '2026-01-02T15:04:00Z',
    '2026-01-02T15:04:05': '2026-01-02T15:04:05Z',
    '2026-01-02T15:04:05.250': '2026-01-02T15:04:05.250Z',
    '2026-01-02T15:04:05+02:00': '2026-01-02T13:04:05Z',
    '90m': '2026-01-02T22:30:00Z',
  }))
    expect(sinceMicroseconds(text, now), text).toBe(Date.parse(time) * 1000);
  for (const text of ['2026-13-01', '2026-01-02T25:00', '2026-01', '2026-01-02T15', '15:04', ''])
    expect(sinceMicroseconds(text, now), text).toBeUndefined();
});

test("splits an application's output into lines, wherever its pieces were cut", () => {
  const text = 'one\ntwo grüße\r\n\nlast';
  for (const size of [1, 2, 3, 7, 100]) {
    const bytes = Buffer.from(text);
    const splitter = new LogLines();
    const found = [];
    for (let start = 0; start < bytes.length; start += size)
      found.push(...splitter.add(bytes.subarray(start, start + size)));
    expect([...found, ...splitter.end(), ...splitter.end()], String(size)).toEqual(['one', 'two grüße', '', 'last']);
  }
});

test('drops the oldest lines of a log that grows too long, and tells its readers', async () => {
  const database = await openDatabase();
  const store = new AppLogStore(database);
  const logs = new AppLogs(store, new TestClock());
  const many = Array.from({ length: 1200 }, (_, line) => `line ${line}`);
  await logs.append({ deploymentId: 'a', invocationId: 'i' }, many);
  await logs.append({ deploymentId: 'b' }, ['other']);
  const before = store.size('a');
  const freed = store.deleteOldest('a', 1000, 'older lines are gone');
  expect(store.size('a')).toBe(before - freed);
  const oldest = logs.read({ deploymentId: 'a' }, 0, 3);
  expect(oldest.map(({ message }) => message)).toEqual(['older lines are gone', 'line 1000', 'line 1001']);
  expect(logs.read({ deploymentId: 'a', invocationId: 'i' }, 0, 1000)).toHaveLength(201);
  expect(logs.read({ deploymentId: 'b' }, 0, 10)).toHaveLength(1);
  const [{ at } = { at: 0 }] = logs.read({ deploymentId: 'b' }, 0, 1);
  const reopened = new AppLogs(store, new TestClock());
  await reopened.append({ deploymentId: 'b' }, ['after']);
  expect(logs.read({ deploymentId: 'b' }, at, 10)).toMatchObject([{ at }, { at: at + 1, message: 'after' }]);
  database.close();
});

test("expired lines don't count towards the size limit of a log @long", async () => {
  const database = await openDatabase();
  const clock = new TestClock();
  const logs = new AppLogs(new AppLogStore(database), clock);
  const source = { deploymentId: 'a' };
  for (const message of ['x', 'y']) await logs.append(source, [message.repeat(60 * 1024 * 1024)]);
  clock.advance(1000);
  logs.deleteBefore(clock.now());
  await logs.append(source, ['z'.repeat(20 * 1024 * 1024), 'last']);
  expect(logs.read(source, 0, 10).map(({ message }) => message.slice(0, 10))).toEqual(['zzzzzzzzzz', 'last']);
  database.close();
});
