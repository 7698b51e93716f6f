import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { BadRequestError } from '@onkernel/sdk';
import { expect } from '@playwright/test';
import { type AuditLog, createClient, ServiceError } from '../../../src/client/index.ts';
import { startService } from '../../../src/service/service.ts';
import { collect } from '../../support/service/organization.ts';
import { callerOf, dataDirectory, test as base, type Call } from '../../support/service/service.ts';
import { lastHours } from './audit-records.ts';

const test = base.extend({
  serviceOptions: async ({}, use, testInfo) => use({ dataDirectory: dataDirectory(testInfo) }),
});

const window = lastHours();
const at = `start=${window.start}&end=${window.end}`;

/** Makes requests of several kinds, one after another. */
async function makeRequests(call: Call): Promise<void> {
  await call('POST', '/profiles', { name: 'ann' });
  await call('GET', '/profiles?limit=5&query=an');
  await call('PATCH', '/profiles/ann', { name: 'bob' });
  await call('GET', '/profiles/nobody');
  await call('DELETE', '/profiles/bob');
}

const rowsOf = (text: string) => Array.from(text.trimEnd().split('\n'), (line) => JSON.parse(line));
const brief = ({ method, path, status }: AuditLog) => `${method} ${path} ${status}`;
const made = [
  'DELETE /profiles/bob 204',
  'GET /profiles/nobody 404',
  'PATCH /profiles/ann 200',
  'GET /profiles?limit=5&query=an 200',
  'POST /profiles 201',
];

test('each request leaves one audit record with caller, operation, address and result', async ({ service }) => {
  const { call, url } = service;
  const before = Date.now();
  const agent = { 'user-agent': 'a-browser/1.0 (of Ann)' };
  const { headers } = await call('PATCH', '/profiles/nobody', { name: 'x' }, agent);
  await call('GET', '/browsers', undefined, { authorization: 'Bearer wrong' });
  await call('GET', '/nowhere');
  await fetch(`${url}/openapi.json`);
  await fetch(`${url}/browser/live?jwt=secret`);
  const { body, headers: paging } = await call('GET', `/audit-logs?${at}`);
  const [page, document, nowhere, refused, renamed] = body as AuditLog[];
  expect(body).toHaveLength(5);
  expect(paging.get('x-has-more')).toBe('false');
  expect(paging.get('x-limit')).toBe('100');
  expect(renamed).toEqual({
    timestamp: expect.any(String),
    auth_strategy: 'api_key',
    user_id: expect.stringMatching(/^[a-z0-9]{24}$/),
    email: `${renamed!.user_id}@api-keys.invalid`,
    status: 404,
    method: 'PATCH',
    path: '/profiles/nobody',
    route: '/profiles/{id_or_name}',
    domain: new URL(url).host,
    duration_ms: expect.any(Number),
    client_ip: '127.0.0.1',
    user_agent: 'a-browser/1.0 (of Ann)',
  });
  expect(Date.parse(renamed!.timestamp)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(renamed!.timestamp)).toBeLessThanOrEqual(Date.now());
  const nobody = { auth_strategy: '', user_id: '', email: '' };
  expect(refused).toMatchObject({ path: '/browsers', route: '/browsers', status: 401, ...nobody });
  expect(nowhere).toMatchObject({ path: '/nowhere', route: '', status: 404, auth_strategy: 'api_key' });
  expect(document).toMatchObject({ path: '/openapi.json', status: 200, auth_strategy: '' });
  expect(page).toMatchObject({ path: '/browser/live?jwt=[redacted]', route: '/browser/live' });

  const { body: exported } = await call('GET', `/audit-logs/export/chunk?${at}&format=jsonl&method=PATCH`);
  expect(JSON.parse(exported)).toEqual({ event_id: headers.get('x-request-id'), ...renamed });
});

test('cuts off long paths and user agents, more in audit records of requests without a key', async ({ service }) => {
  const { url, call } = service;
  const path = `/browsers/${'x'.repeat(6000)}`;
  const headers = { 'user-agent': 'y'.repeat(5000) };
  await fetch(`${url}${path}`, { headers });
  for (let count = 0; count < 50; count += 1) await fetch(`${url}${path}${count}`, { headers });
  await call('GET', path, undefined, headers);
  const { body } = await call('GET', `/audit-logs?${at}&search=xxxx`);
  expect(body.map(({ path, user_agent: agent, count = 1 }: AuditLog) => [path, agent, count])).toEqual([
    [path.slice(0, 2048), 'y'.repeat(512), 1],
    [path.slice(0, 200), 'y'.repeat(64), 51],
  ]);
});

test.describe('without a browser that starts', () => {
  test.use({
    serviceOptions: async ({}, use, testInfo) => {
      const executable = testInfo.outputPath('chromium');
      await writeFile(executable, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
      await use({ chromium: { executable }, sessionUids: false });
    },
  });

  test('requests of callers that hang up or break the protocol leave records, too', async ({ service }) => {
    const { url, apiKey, call } = service;
    await call('POST', '/browser_pools', { size: 1, name: 'ci' });
    const { hostname, port } = new URL(url);
    const acquiring = connect(Number(port), hostname);
    const head = `Host: ${hostname}\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json`;
    const body = '{"acquire_timeout_seconds":30}';
    const length = `Content-Length: ${body.length}`;
    acquiring.end(`POST /browser_pools/ci/acquire HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`);
    const recordsOf = async (search: string) => (await call('GET', `/audit-logs?${at}&search=${search}`)).body;
    const hungUp = { status: 499, method: 'POST', route: '/browser_pools/{id_or_name}/acquire' };
    await expect.poll(() => recordsOf('499&method=POST')).toMatchObject([hungUp]);

    const rebinding = connect(Number(port), hostname);
    rebinding.end('GET /profiles?limit=1 HTTP/1.1\r\nHost: evil.example\r\nUser-Agent: rebinding\r\n\r\n');
    await once(rebinding.resume(), 'close');
    const unknown = { path: '/profiles?limit=[redacted]', route: '', auth_strategy: '' };
    const named = { domain: 'evil.example', user_agent: 'rebinding' };
    expect(await recordsOf('profiles')).toMatchObject([{ status: 400, ...unknown, ...named }]);
  });
});

test('each filter finds the matching audit records', async ({ service: { call } }) => {
  await makeRequests(call);
  await call('GET', '/browsers', undefined, { authorization: 'Bearer wrong' });
  const { body } = await call('GET', `/audit-logs?${at}&method=POST`);
  const [{ user_id: me, timestamp }] = body as [AuditLog];
  const later = new Date(Date.parse(timestamp) + 1).toISOString();
  for (const [filter, found] of [
    [`${at}&method=POST`, made.slice(4)],
    [`${at}&method=post`, made.slice(4)],
    [`${at}&method=PUT`, []],
    [`${at}&exclude_method=GET,delete`, [made[2], made[4]]],
    [`${at}&method=GET&exclude_method=GET`, []],
    [`${at}&auth_strategy=api_key&exclude_method=GET`, [made[0], made[2], made[4]]],
    [`${at}&auth_strategy=oauth`, []],
    [`${at}&service=api&method=DELETE`, [made[0]]],
    [`${at}&service=pages`, []],
    [`${at}&search=PROFILES/b`, [made[0]]],
    [`${at}&search=rofiles/nob`, [made[1]]],
    [`${at}&search=404`, [made[1]]],
    [`${at}&search=40%20nobody`, [made[1]]],
    [`${at}&search=nobod%20${me}`, [made[1]]],
    [`${at}&search=${me}@api-keys&method=PATCH`, [made[2]]],
    [`${at}&search=127.0.0.1&method=PATCH`, [made[2]]],
    [`${at}&search=%22%20OR%20*`, []],
    [`${at}&search=%25`, []],
    [`${at}&search=no-such&search_user_id=nobody,${me}&method=DELETE`, [made[0]]],
    [`${at}&search_user_id=${me}&method=DELETE`, [made[0]]],
    [`${at}&search_user_id=nobody`, []],
    [`${at}&search=profiles/bob&search_user_id=nobody`, [made[0]]],
    [`start=${timestamp}&end=${later}&method=POST`, made.slice(4)],
    [`start=${later}&end=${window.end}&method=POST`, []],
    [`start=${window.start}&end=${timestamp}`, []],
    [`start=${encodeURIComponent(timestamp.replace('Z', '+00:00'))}&end=${later}&method=POST`, made.slice(4)],
  ] as const) {
    const answer = await call('GET', `/audit-logs?${filter}`);
    // Reading the records leaves records too.
    const records = (answer.body as AuditLog[]).filter(({ route }) => route !== '/audit-logs');
    expect([filter, records.map(brief)]).toEqual([filter, found]);
  }
});

test('paging neither skips nor repeats records while new ones arrive', async ({ service: { call }, client }) => {
  await makeRequests(call);
  await makeRequests(call);
  const seen: string[] = [];
  const ends: string[] = [];
  const pages = client.auditLogs.list({ ...window, limit: 3, search: '/profiles' }).pages();
  for await (const { items, nextPageToken } of pages) {
    seen.push(...items.map(brief));
    ends.push(typeof nextPageToken);
    await makeRequests(call);
  }
  expect(seen).toEqual([...made, ...made]);
  expect(ends).toEqual(['string', 'string', 'string', 'undefined']);

  const path = `/audit-logs?${at}&limit=5&search=${encodeURIComponent('profiles/bob')}`;
  const exact = await call('GET', path);
  expect(exact.body).toHaveLength(5);
  const last = await call('GET', `${path}&page_token=${exact.headers.get('x-next-page-token')}`);
  expect([last.body.length, last.headers.get('x-next-page-token')]).toEqual([1, null]);
});

test('both clients page through audit records and download them', async ({ call, client, kernel }, testInfo) => {
  for (let round = 0; round < 3; round += 1) await makeRequests(call);
  const search = '/profiles';
  const query = { ...window, search, limit: 4 };
  const ours = await collect(client.auditLogs.list(query));
  expect(ours.map(brief)).toEqual([...made, ...made, ...made]);
  expect(await collect(kernel.auditLogs.list(query))).toEqual(ours);
  expect(await collect(kernel.auditLogs.list({ ...window, search, exclude_method: ['GET', 'POST'] }))).toHaveLength(6);

  const chunks: Uint8Array[] = [];
  const destination = { write: (chunk: Uint8Array) => void chunks.push(chunk) };
  const progress: number[] = [];
  const onProgress = ({ chunkRows }: { chunkRows: number }) => void progress.push(chunkRows);
  const result = await kernel.auditLogs.download(query, destination, { onProgress });
  const file = Buffer.concat(chunks);
  expect(result).toEqual({ bytesWritten: file.length, chunks: 4, rows: 15 });
  expect(progress).toEqual([4, 4, 4, 3]);
  const rows = rowsOf(gunzipSync(file).toString());
  expect(rows).toMatchObject(ours);
  expect(new Set(rows.map(({ event_id }) => event_id)).size).toBe(15);
  await expect(kernel.auditLogs.list({ start: window.end, end: window.start })).rejects.toThrow(BadRequestError);

  const to = testInfo.outputPath('audit.jsonl');
  expect(await client.auditLogs.download(to, { ...query, format: 'jsonl' })).toMatchObject({ rows: 15, chunks: 4 });
  const plain = await readFile(to, 'utf8');
  expect(rowsOf(plain)).toMatchObject(ours);
  expect(await client.auditLogs.download(`${to}.gz`, query)).toMatchObject({ rows: 15, chunks: 4 });
  expect(gunzipSync(await readFile(`${to}.gz`)).toString()).toBe(plain);
  const none = await client.auditLogs.download(`${to}.none`, { ...query, method: 'PUT' });
  expect(none).toMatchObject({ rows: 0, chunks: 1 });
});

test('no audit record and no database row contains a token or a secret', async ({ service }, testInfo) => {
  const { call, apiKey } = service;
  const secret = 'the-secret-of-the-query';
  await call('GET', `/profiles/${apiKey}`, undefined, { 'user-agent': `curl ${apiKey}` });
  const { body: other } = await call('POST', '/org/api_keys', { name: 'other' });
  await call('GET', `/nowhere/${other.key}?${secret}`);
  await call('GET', `/profiles?limit=7&password=${secret}&api_key=${secret}&tags[key]=${secret}`);
  await call('GET', `/browser/replays/x?token=${secret}&a=${secret}`);
  await call('GET', `/audit-logs?${at}&limit=1&page_token=${secret}`);
  const { body } = await call('GET', `/audit-logs?${at}`);
  expect((body as AuditLog[]).map(({ path, user_agent }) => [path, user_agent]).toReversed()).toEqual([
    ['/profiles/[redacted]', 'curl [redacted]'],
    ['/org/api_keys', expect.any(String)],
    ['/nowhere/[redacted]?[redacted]', expect.any(String)],
    ['/profiles?limit=7&password=[redacted]&api_key=[redacted]&tags[key]=[redacted]', expect.any(String)],
    ['/browser/replays/x?token=[redacted]&a=[redacted]', expect.any(String)],
    [`/audit-logs?${at}&limit=1&page_token=[redacted]`, expect.any(String)],
  ]);
  const directory = dataDirectory(testInfo);
  await service.close();
  const stored = await readFile(`${directory}/service.db`, 'latin1');
  expect(stored.includes('/audit-logs')).toBe(true);
  for (const text of [secret, apiKey, other.key.slice(-32)]) expect(stored.includes(text), text).toBe(false);
});

test('no record contains a key that is URL-encoded in the request', async () => {
  const apiKey = 'a key/of +somebody=';
  await using service = await startService({ apiKey });
  const call = callerOf(service);
  await call('GET', `/profiles/${encodeURIComponent(apiKey)}`);
  expect((await call('GET', `/audit-logs?${at}`)).body).toMatchObject([{ path: '/profiles/[redacted]' }]);
});

test("a project's key does not see the audit records of the organization", async ({ service }) => {
  const { call, url } = service;
  const { body: project } = await call('POST', '/org/projects', { name: 'apart' });
  const { body: key } = await call('POST', '/org/api_keys', { name: 'apart', project_id: project.id });
  await using client = createClient({ baseURL: url, apiKey: key.key });
  const refused = await collect(client.auditLogs.list(window)).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ServiceError);
  expect(refused).toMatchObject({ status: 403, code: 'forbidden' });
  const { body } = await call('GET', `/audit-logs?${at}&search=403`);
  expect(body).toMatchObject([{ user_id: key.id, path: expect.stringContaining('/audit-logs') }]);
});

const items = (count: number) => Array.from({ length: count }, (_, index) => `x${index}`).join(',');
const first = 'start=2026-01-01T00:00:00Z';
const bounds: [what: string, path: string, detail: RegExp][] = [
  ['no start', `?end=${window.end}`, /^start: /],
  ['no end', `?start=${window.start}`, /^end: /],
  ['a start that is no time', `?start=yesterday&end=${window.end}`, /^start: /],
  ['an end that is a day', `?start=${window.start}&end=2026-01-01`, /^end: /],
  ['a window of more than 30 days', `?${first}&end=2026-01-31T00:00:00.001Z`, /^end: .*30 days/],
  ['an end before the start', '?start=2026-01-02T00:00:00Z&end=2026-01-01T00:00:00Z', /^end: .*before/],
  ['a page size of 0', `?${at}&limit=0`, /^limit: /],
  ['a page size of 101', `?${at}&limit=101`, /^limit: /],
  ['a page size that is no number', `?${at}&limit=ten`, /^limit: /],
  ['11 excluded methods', `?${at}&exclude_method=${items(11)}`, /^exclude_method: /],
  ['101 user ids', `?${at}&search_user_id=${items(101)}`, /^search_user_id: /],
  ['a page token of somebody else', `?${at}&page_token=abc`, /^page_token: /],
  ['a chunk of 0 records', `/export/chunk?${at}&limit=0`, /^limit: /],
  ['a chunk of 50001 records', `/export/chunk?${at}&limit=50001`, /^limit: /],
  ['an unknown format', `/export/chunk?${at}&format=csv`, /^format: /],
  ['a cursor of somebody else', `/export/chunk?${at}&cursor=%F0%9F%98%80`, /^cursor: /],
  ['an export of more than 30 days', `/export/chunk?${first}&end=2026-02-01T00:00:00Z`, /^end: /],
];

test("refuses values out of bounds with the field's name, and accepts the bounds", async ({ service: { call } }) => {
  for (const [what, path, detail] of bounds) {
    const { status, body } = await call('GET', `/audit-logs${path}`);
    expect([status, body.code], what).toEqual([400, 'bad_request']);
    const details = { code: 'invalid_input', message: expect.stringMatching(detail) };
    expect(body.details, what).toContainEqual(details);
  }
  const most = `limit=100&exclude_method=${items(10)}&search_user_id=${items(100)}&search=${'a%20bcd'.repeat(500)}`;
  for (const path of [
    `?${first}&end=2026-01-31T00:00:00Z`,
    `?${first}&end=2026-01-01T00:00:00Z`,
    `?${at}&offset=1`,
    `?${at}&${most}`,
    `/export/chunk?${at}&limit=50000`,
  ])
    expect((await call('GET', `/audit-logs${path}`)).status, path).toBe(200);
});
