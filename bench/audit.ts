import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Libsql from 'libsql';
import type { Client } from 'playwright-pool/client';
import { interleaved, median, type Comparison } from './comparison.ts';
import { measureCurve, type Curve } from './curve.ts';
import { ServiceProcess } from './service.ts';

export const runs = 15;

const records = 200_000;
const requests = 500;
const dayMs = 24 * 60 * 60 * 1000;
const idsPerMs = 1024;

type Query = Parameters<Client['auditLogs']['list']>[0];

/** Measures searches in many audit records, and the cost of recording them for requests. */
export async function run(runs: number): Promise<Comparison[]> {
  return [...(await withRecords(records, (client, now) => searching(client, now, runs))), await recording(runs)];
}

/** Measures how the cost of a search grows with the records. */
export async function curves(): Promise<Curve[]> {
  const measure = 'first page of a search that all audit records match, by their number';
  const sizes = [10_000, 100_000, 1_000_000];
  return [await measureCurve({ measure, unit: 'ms', sizes, runs: 1 }, (size) => withRecords(size, timeSearches))];
}

async function timeSearches(client: Client, now: number): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 5; run++)
    times.push(await timeFirstPage(client, { ...spanOf(now), search: 'browsers 127.0.0.1' }));
  return median(times);
}

async function withRecords<T>(count: number, use: (client: Client, now: number) => Promise<T>): Promise<T> {
  const now = Date.now();
  const directory = await mkdtemp(path.join(tmpdir(), 'playwright-pool-bench-'));
  try {
    // The first start creates the database.
    await (await ServiceProcess.start(['--data-dir', directory]))[Symbol.asyncDispose]();
    fill(path.join(directory, 'service.db'), now - 20 * dayMs, count);
    await using service = await ServiceProcess.start(['--data-dir', directory]);
    return await use(service.client, now);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The time range of all records. */
function spanOf(now: number): { start: string; end: string } {
  return { start: new Date(now - 20 * dayMs).toISOString(), end: new Date(now).toISOString() };
}

async function searching(client: Client, now: number, runs: number): Promise<Comparison[]> {
  const all = spanOf(now);
  const firstPages: [name: string, query: Query][] = [
    ['by time', { start: new Date(now - 11 * dayMs).toISOString(), end: new Date(now - 10 * dayMs).toISOString() }],
    ['by filter', { ...all, method: 'DELETE', exclude_method: ['GET'], auth_strategy: 'api_key', service: 'api' }],
    ['by free text', { ...all, search: 'file-1234' }],
    ['by free text that all have', { ...all, search: 'browsers 127.0.0.1' }],
  ];
  const comparisons: Comparison[] = [];
  for (const [name, query] of firstPages) {
    const ours: number[] = [];
    for (let run = runs > 1 ? 0 : 1; run <= runs; run++) {
      const took = await timeFirstPage(client, query);
      if (run > 0) ours.push(took);
    }
    comparisons.push({ measure: `first page of 200,000 audit records ${name}`, unit: 'ms', ours });
  }
  return [...comparisons, await walk(client, all, Math.min(runs, 3))];
}

async function timeFirstPage(client: Client, query: Query): Promise<number> {
  const started = performance.now();
  for await (const { items } of client.auditLogs.list(query).pages()) {
    if (items.length === 0) throw new Error('the search found no record');
    break;
  }
  return performance.now() - started;
}

async function walk(client: Client, query: Query, runs: number): Promise<Comparison> {
  const ours: number[] = [];
  const other: number[] = [];
  for (let run = 0; run < runs; run++) {
    const times = [performance.now()];
    for await (const _ of client.auditLogs.list(query).pages()) times.push(performance.now());
    const pages = times.length - 1;
    if (pages !== records / 100) throw new Error(`${pages} pages were read`);
    const quarter = pages / 4;
    ours.push(times[pages]! - times[pages - quarter]!);
    other.push(times[quarter]! - times[0]!);
  }
  return { measure: 'last quarter of the pages of 200,000 audit records, against the first', unit: 'ms', ours, other };
}

async function recording(runs: number): Promise<Comparison> {
  await using audited = await ServiceProcess.start();
  await using unaudited = await ServiceProcess.start(['--audit-retention-days', '0']);
  const figures = await interleaved(runs, { ours: () => latency(audited), other: () => latency(unaudited) });
  return { measure: 'request with auditing on, against off', unit: 'ms', ...figures };
}

async function latency({ client }: ServiceProcess): Promise<number> {
  const started = performance.now();
  for (let request = 0; request < requests; request++) for await (const _ of client.profiles.list({ limit: 1 })) break;
  return (performance.now() - started) / requests;
}

/** Writes records like the service does, over 20 days from `start` on. */
function fill(file: string, start: number, count: number): void {
  const database = new Libsql(file);
  const step = Math.floor((20 * dayMs) / count) * idsPerMs;
  database.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count - 1})
    INSERT INTO audit_logs (id, event_id, service, auth_strategy, user_id, email, status, method, path, route, domain, duration_ms,
      client_ip, user_agent)
    SELECT ${start * idsPerMs} + n * ${step}, lower(hex(randomblob(16))), 'api', 'api_key', 'user' || (n % 50),
      'user' || (n % 50) || '@example.com', iif(n % 17 = 0, 404, 200), iif(n % 1000 = 0, 'DELETE', iif(n % 5 = 0, 'POST', 'GET')),
      '/browsers/' || lower(hex(randomblob(12))) || '/fs/read_file?path=%2Fhome%2Fuser%2Ffile-' || n, '/browsers/{id}/fs/read_file',
      '127.0.0.1:3000', 5, '127.0.0.1', 'playwright-pool/0.1.0 run/' || lower(hex(randomblob(16)))
    FROM numbers;
    INSERT INTO audit_log_texts (rowid, text) SELECT id, text FROM audit_logs;`);
  database.close();
}
