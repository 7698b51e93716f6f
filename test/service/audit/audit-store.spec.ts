import type { AuditLog } from '../../../src/client/index.ts';
import { AuditLogStore } from '../../../src/service/audit/audit-logs.ts';
import { closeDatabase, type Database, openDatabase } from '../../../src/service/database/database.ts';
import { TestClock } from '../../support/service/clock.ts';
import { startTestService, type TestService } from '../../support/service/service.ts';
import { lastHours, recordAt } from './audit-records.ts';
import { expect, test as base } from '../../support/worker.ts';

const test = base.extend<{ clock: TestClock; database: Database; store: AuditLogStore }>({
  clock: async ({}, use) => use(new TestClock()),
  database: async ({}, use) => {
    const database = await openDatabase();
    await use(database);
    closeDatabase(database);
  },
  store: async ({ database, clock }, use) => {
    const store = new AuditLogStore(database, clock, { retentionDays: 30, largestMiB: 1024 });
    await use(store);
    store.close();
  },
});

const dayMs = 24 * 60 * 60 * 1000;

const everything = { start: 0, end: 8e12 };
const countIn = (database: Database, table: string) =>
  (database.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number }).count;

// An id has room for 1024 records of one millisecond.
test('keeps all audit records of one millisecond, and later ones of an earlier time', ({ store, database, clock }) => {
  const records = Array.from({ length: 1100 }, () => recordAt(clock.now()));
  for (const record of records) store.add(record);
  store.close();
  const again = new AuditLogStore(database, clock, { retentionDays: 30, largestMiB: 1024 });
  records.push(recordAt(clock.now()), recordAt(clock.now() + 1), recordAt(clock.now()));
  for (const record of records.slice(-3)) again.add(record);
  const found = again.find(everything, { count: 10_000 });
  expect(found.map(({ eventId }) => eventId).toSorted()).toEqual(records.map(({ event_id }) => event_id).toSorted());
  const ids = found.map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted((a, b) => b - a));
  again.close();
});

test('sorts an audit record by its own time, even if it was written late', ({ store, clock }) => {
  for (const offset of [5, 0, 9, 3]) store.add(recordAt(clock.now() + offset, { path: `/${offset}` }));
  const first = store.find(everything, { count: 2 });
  store.add(recordAt(clock.now() + 4, { path: '/4' }));
  store.add(recordAt(clock.now() + 8, { path: '/8' }));
  const rest = store.find(everything, { before: first.at(-1)!.id, count: 10 });
  expect([...first, ...rest].map(({ log }) => log.path)).toEqual(['/9', '/5', '/4', '/3', '/0']);
});

test('searches for words inside any text field of audit records, with any characters', ({ store, clock }) => {
  const paths = ['/a"b*c', "/it's", '/x(y)z', '/a%20b_c%', '/über', '/AND', '/a\\b', '/NEAR(', '/日本語'];
  for (const path of paths)
    store.add(recordAt(clock.now(), { path, status: 418, client_ip: '10.1.2.3', email: 'Bob@Example.com' }));
  store.add(recordAt(clock.now(), { path: '/other', user_agent: 'tea/418' }));
  const found = (search: string) => store.find({ ...everything, search }, { count: 100 }).map(({ log }) => log.path);
  for (const path of paths) expect(found(path), path).toEqual([path]);
  for (const path of paths) expect(found(path.slice(1, 3)), path).toContain(path);
  for (const search of ['418', '10.1.2', 'bob@exAMPLE', '41 ANN', ' \t', 'ann  /'])
    expect(found(search).length, search).toBeGreaterThanOrEqual(9);
  expect(found('"')).toEqual(['/a"b*c']);
  for (const search of ['tea', 'GET', 'bobx', '419', 'a"b*cd', '\0', 'OR']) expect(found(search), search).toEqual([]);
});

test("stores audit records later if they can't be stored now", ({ store, database, clock }) => {
  database.pragma('query_only = ON');
  store.add(recordAt(clock.now(), { path: '/kept' }));
  expect(store.find(everything, { count: 10 })).toEqual([]);
  clock.advance(60_000);
  database.pragma('query_only = OFF');
  clock.advance(1000);
  expect(countIn(database, 'audit_logs')).toBe(1);
  expect(clock.pending()).toHaveLength(1);
});

test('stores audit records within 100 ms, and in batches', ({ store, database, clock }) => {
  for (let index = 0; index < 10; index += 1) store.add(recordAt(clock.now()));
  expect(countIn(database, 'audit_logs')).toBe(0);
  clock.advance(99);
  expect(countIn(database, 'audit_logs')).toBe(10);
  for (let index = 0; index < 600; index += 1) store.add(recordAt(clock.now()));
  expect(countIn(database, 'audit_logs')).toBeGreaterThan(10);
  store.add(recordAt(clock.now()));
  store.close();
  expect(countIn(database, 'audit_logs')).toBe(611);
  store.add(recordAt(clock.now()));
  expect(store.find(everything, { count: 1000 })).toHaveLength(611);
});

test('hides expired audit records at once, and deletes them step by step', ({ store, database, clock }) => {
  for (let index = 0; index < 1100; index += 1) store.add(recordAt(clock.now(), { path: `/old/${index}` }));
  clock.advance(20 * dayMs);
  store.add(recordAt(clock.now(), { path: '/young' }));
  clock.advance(9 * dayMs);
  expect(countIn(database, 'audit_logs')).toBe(1101);
  clock.advance(dayMs + 2 * 60 * 60 * 1000);
  expect([countIn(database, 'audit_logs'), countIn(database, 'audit_log_texts')]).toEqual([1, 1]);
  expect(store.find({ ...everything, search: '/old' }, { count: 10 })).toEqual([]);
  expect(store.find({ ...everything, search: '/you' }, { count: 10 })).toHaveLength(1);
});

test('deletes the oldest audit records when all together exceed the size limit', ({ database, clock }) => {
  const store = new AuditLogStore(database, clock, { retentionDays: 30, largestMiB: 1 });
  for (let index = 0; index < 900; index += 1) {
    clock.advance(1);
    store.add(recordAt(clock.now(), { path: `/${index}/${'x'.repeat(1000)}` }));
  }
  clock.advance(10_000);
  // A record with a path of 1000 characters takes about 4.6 kB.
  const kept = countIn(database, 'audit_logs');
  expect(kept).toBeGreaterThan(100);
  expect(kept).toBeLessThan(240);
  expect(countIn(database, 'audit_log_texts')).toBe(kept);
  const paths = store.find(everything, { count: 1000 }).map(({ log }) => Number(log.path.split('/')[1]));
  expect(paths).toEqual(Array.from({ length: kept }, (_, index) => 899 - index));

  // The next service counts what it finds.
  store.close();
  const smaller = new AuditLogStore(database, clock, { retentionDays: 30, largestMiB: 0.5 });
  clock.advance(10_000);
  expect(countIn(database, 'audit_logs')).toBeLessThan(120);
  smaller.close();
});

test('counts refused requests without a key in one audit record a minute', ({ store, database, clock }) => {
  const refused = { user_id: '', email: '', auth_strategy: '', status: 401 };
  for (let index = 0; index < 1000; index += 1) store.add(recordAt(clock.now(), { ...refused, path: `/${index}` }));
  clock.advance(1000);
  for (let index = 0; index < 500; index += 1) store.add(recordAt(clock.now(), refused));
  const document = { route: '/openapi.json', status: 200 };
  for (const other of [{ status: 404 }, { method: 'POST' }, { client_ip: '10.0.0.1' }, document])
    store.add(recordAt(clock.now(), { ...refused, ...other }));
  clock.advance(60_000);
  store.add(recordAt(clock.now(), refused));
  // With a key, or for a view that has a link, each request has its record.
  for (let index = 0; index < 2; index += 1) {
    store.add(recordAt(clock.now(), { status: 404 }));
    store.add(recordAt(clock.now(), { ...refused, service: 'pages', status: 200 }));
  }
  const found = store.find(everything, { count: 100 });
  expect(found.map(({ log }) => log['count'])).toEqual([...Array.from({ length: 9 }, () => undefined), 1500]);
  expect(found.at(-1)!.log).toMatchObject({ path: '/0', status: 401 });
  store.close();
  expect(countIn(database, 'audit_logs')).toBe(10);
});

test('counts refused requests from very many addresses in a few audit records', ({ store, database, clock }) => {
  const refused = { user_id: '', email: '', auth_strategy: '', status: 401 };
  for (let index = 0; index < 3000; index += 1)
    store.add(recordAt(clock.now(), { ...refused, client_ip: `fe80::${index.toString(16)}` }));
  store.close();
  expect(countIn(database, 'audit_logs')).toBeLessThanOrEqual(1001);
  const sum = database.prepare('SELECT sum(ifnull(count, 1)) AS requests FROM audit_logs').get();
  expect(sum).toMatchObject({ requests: 3000 });
});

test('a service forgets records that are older than its retention, and records nothing for one of 0 days', async () => {
  const clock = new TestClock();
  await using service = await startTestService({ clock, auditRetentionDays: 2 });
  const lastDays = () => {
    const [start, end] = [clock.now() - 5 * dayMs, clock.now() + 1].map((time) => new Date(time).toISOString());
    return `start=${start}&end=${end}&search=profiles`;
  };
  await service.call('GET', '/profiles/first');
  clock.advance(1.5 * dayMs);
  await service.call('GET', '/profiles/second');
  expect(await pathsIn(service, lastDays())).toEqual(['/profiles/second', '/profiles/first']);
  clock.advance(dayMs);
  expect(await pathsIn(service, lastDays())).toEqual(['/profiles/second']);

  await using silent = await startTestService({ auditRetentionDays: 0 });
  await silent.call('GET', '/profiles');
  const { start, end } = lastHours();
  expect(await pathsIn(silent, `start=${start}&end=${end}`)).toEqual([]);
});

async function pathsIn({ call }: TestService, query: string): Promise<string[]> {
  return ((await call('GET', `/audit-logs?${query}`)).body as AuditLog[]).map(({ path }) => path);
}
