import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createReadStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { type Client, createClient } from '../../../src/client/index.ts';
import { systemClock } from '../../../src/service/process/clock.ts';
import { AuditLogStore } from '../../../src/service/audit/audit-logs.ts';
import { closeDatabase, openDatabase } from '../../../src/service/database/database.ts';
import { startService } from '../../../src/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { collect } from '../../support/service/organization.ts';
import { lastHours, recordAt } from './audit-records.ts';
import { expect, test } from '../../support/worker.ts';

const window = lastHours();
const apiKey = 'the-key-of-the-audited-service';
const volume = isLong ? 200_000 : 1500;

async function serve(directory: string): Promise<{ cli: CliProcess; client: Client } & AsyncDisposable> {
  const cli = new CliProcess(['serve', '--data-dir', directory], { env: { PLAYWRIGHT_POOL_API_KEY: apiKey } });
  const url = (await cli.firstLine()).replace('listening on ', '');
  const client = createClient({ baseURL: url, apiKey, maxRetries: 0 });
  const stop = async () => {
    await client.close();
    await cli[Symbol.asyncDispose]();
  };
  return { cli, client, [Symbol.asyncDispose]: stop };
}

test('a killed service has stored the audit records of all requests answered 100 ms before the kill @long', async ({}, testInfo) => {
  const directory = testInfo.outputPath('data');
  const answeredAt = new Map<string, number>();
  let killedAt: number;
  {
    await using service = await serve(directory);
    const { cli, client } = service;
    const end = performance.now() + 2500;
    for (let index = 0; performance.now() < end || index <= 50; index += 1) {
      const path = `/profiles/p${index}`;
      await client.profiles.retrieve(`p${index}`).catch(() => undefined);
      answeredAt.set(path, performance.now());
    }
    killedAt = performance.now();
    cli.child.kill('SIGKILL');
    await cli.exited;
  }
  await using service = await serve(directory);
  const found = new Set<string>();
  for await (const { path } of service.client.auditLogs.list({ ...window, search: 'profiles/p' })) {
    expect(found, 'none is there twice').not.toContain(path);
    found.add(path);
  }
  const lost = [...answeredAt].filter(([path]) => !found.has(path)).map(([, at]) => killedAt - at);
  expect(answeredAt.size).toBeGreaterThan(50);
  // On a busy machine the service writes as late as it answers.
  const times = [...answeredAt.values()];
  const gaps = times.map((at, index) => (at > killedAt - 500 ? at - (times[index - 1] ?? at) : 0));
  expect(Math.max(0, ...lost)).toBeLessThan(100 + Math.max(...gaps));
});

test('a service that shuts down properly loses no audit record', async ({}, testInfo) => {
  const dataDirectory = testInfo.outputPath('data');
  {
    await using service = await serve(dataDirectory);
    for (let index = 0; index < 20; index += 1)
      await service.client.profiles.retrieve(`p${index}`).catch(() => undefined);
  }
  await using service = await startService({ dataDirectory, apiKey });
  await using client = createClient({ baseURL: service.url, apiKey });
  const found = await collect(client.auditLogs.list({ ...window, search: 'profiles/p' }));
  expect(found.map(({ status }) => status)).toEqual(Array<number>(20).fill(404));
});

test(`lists and downloads ${volume} audit records in bounded memory, and the last pages as fast as the first`, async ({}, testInfo) => {
  testInfo.setTimeout(isLong ? 600_000 : 60_000);
  const directory = testInfo.outputPath('data');
  mkdirSync(directory, { recursive: true });
  await fill(join(directory, 'service.db'));

  await using service = await serve(directory);
  const { client, cli } = service;
  const query = { ...window, search: '/volume/' };
  for await (const _ of client.auditLogs.list({ ...query, limit: 1 })) break;
  const before = await memoryOf(cli);
  const file = testInfo.outputPath('audit.jsonl.gz');
  const downloaded = await client.auditLogs.download(file, query);
  expect(downloaded).toMatchObject({ rows: volume, chunks: Math.ceil(volume / 50_000) });
  const tokens: string[] = [];
  let listed = 0;
  for await (const { items, nextPageToken } of client.auditLogs.list(query).pages()) {
    listed += items.length;
    if (nextPageToken !== undefined) tokens.push(nextPageToken);
  }
  expect(listed).toBe(volume);
  expect(await memoryOf(cli) - before).toBeLessThan(150); // prettier-ignore

  const events = new Set<string>();
  for await (const line of createInterface(createReadStream(file).pipe(createGunzip())))
    events.add((JSON.parse(line) as { path: string }).path);
  expect(events.size).toBe(volume);
  const timeOf = async (page_token: string) => {
    const startedAt = performance.now();
    for await (const { items } of client.auditLogs.list({ ...query, page_token }).pages()) {
      expect(items).toHaveLength(100);
      break;
    }
    return performance.now() - startedAt;
  };
  const first: number[] = [];
  const last: number[] = [];
  // In turns, so that a busy machine delays both alike. The shortest times are those without a delay.
  for (let turn = 0; turn < 20; turn += 1) {
    first.push(await timeOf(tokens[turn % 5]!));
    last.push(await timeOf(tokens.at(-1 - (turn % 5))!));
  }
  expect(Math.min(...last)).toBeLessThan(2 * Math.min(...first) + 2);
});

async function fill(file: string): Promise<void> {
  const database = await openDatabase(file);
  const store = new AuditLogStore(database, systemClock, { retentionDays: 365, largestMiB: 1024 });
  const begin = Date.parse(window.start);
  for (let index = 0; index < volume; index += 1) {
    const user = `user${index % 50}`;
    store.add(
      recordAt(begin + index, {
        user_id: user,
        email: `${user}@example.com`,
        status: index % 17 === 0 ? 404 : 200,
        method: index % 5 === 0 ? 'POST' : 'GET',
        path: `/volume/${index}/${randomUUID()}`,
      }),
    );
  }
  store.close();
  closeDatabase(database);
}

/** The most memory that a process has had so far, in MB. */
async function memoryOf({ child }: CliProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)![1]) / 1000;
}
