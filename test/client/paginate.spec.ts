import { expect } from '@playwright/test';
import type { ListPage, Profile } from '../../src/client/index.ts';
import { collect, errorOf, type ScriptedAnswer, test } from './recording-server.ts';

function page(names: string[], paging: { more?: string; next?: string }): ScriptedAnswer {
  const headers = {
    ...(paging.more !== undefined && { 'X-Has-More': paging.more }),
    ...(paging.next !== undefined && { 'X-Next-Offset': paging.next }),
  };
  return { json: names.map((name) => ({ id: name, name })), headers };
}

async function names(profiles: AsyncIterable<Profile>): Promise<string[]> {
  return (await collect(profiles)).map(({ id }) => id);
}

const threePages = [
  page(['a', 'b'], { more: 'true', next: '2' }),
  page(['c', 'd'], { more: 'true', next: '4' }),
  page(['e'], { more: 'false', next: '0' }),
];

test('iterates over all list pages, and requests a page when it is needed', async ({ serve, connect }) => {
  const server = await serve(...threePages);
  const list = connect(server).profiles.list({ query: 'x', limit: 2 });
  expect(server.calls).toEqual([]);
  expect(await names(list)).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(server.calls.map(({ url }) => url)).toEqual([
    '/profiles?query=x&limit=2',
    '/profiles?query=x&limit=2&offset=2',
    '/profiles?query=x&limit=2&offset=4',
  ]);
});

test('returns single list pages with the offset of the next one', async ({ serve, connect }) => {
  const server = await serve(...threePages);
  const pages = await collect<ListPage<Profile>>(connect(server).profiles.list().pages());
  expect(pages.map(({ items, hasMore, nextOffset }) => [items.length, hasMore, nextOffset])).toEqual([
    [2, true, 2],
    [2, true, 4],
    [1, false, 0],
  ]);
});

test('sends no further request after the loop ends, and the list can be read again', async ({ serve, connect }) => {
  const server = await serve(threePages[0]!, threePages[0]!, threePages[2]!);
  const list = connect(server).profiles.list();
  for await (const { id } of list) if (id === 'b') break;
  expect(server.calls).toHaveLength(1);
  expect(await names(list)).toEqual(['a', 'b', 'e']);
  expect(server.calls.map(({ url }) => url)).toEqual(['/profiles', '/profiles', '/profiles?offset=2']);
});

test('starts at the requested offset of a list', async ({ serve, connect }) => {
  const server = await serve(page(['x'], { more: 'true', next: '11' }), page(['y'], { more: 'false' }));
  expect(await names(connect(server).profiles.list({ offset: 10 }))).toEqual(['x', 'y']);
  expect(server.calls.map(({ url }) => url)).toEqual(['/profiles?offset=10', '/profiles?offset=11']);
});

for (const [title, first, expected] of [
  ['without X-Has-More a positive next offset goes on', page(['a'], { next: '1' }), ['a', 'z']],
  ['without both headers there is one page', page(['a'], {}), ['a']],
  ['an offset of 0 ends the list', page(['a'], { more: 'true', next: '0' }), ['a']],
  ['an empty page ends the list', page([], { more: 'true', next: '5' }), []],
  ['an empty page ends the list, whatever its headers lack', page([], { more: 'true' }), []],
  ['X-Has-More: false ends the list, whatever the next offset', page(['a'], { more: 'false', next: '5' }), ['a']],
  ['anything but true in lower case is no', page(['a'], { more: 'True', next: '5' }), ['a']],
  ['an unreadable offset ends the list', page(['a'], { next: 'x' }), ['a']],
] as const) {
  test(title, async ({ serve, connect }) => {
    const server = await serve(first, page(['z'], { more: 'false' }));
    expect(await names(connect(server).profiles.list())).toEqual(expected);
  });
}

test('throws for a list page that announces more items without the next offset', async ({ serve, connect }) => {
  const server = await serve(page(['a'], { more: 'true' }));
  const error = await errorOf(names(connect(server).profiles.list()));
  expect(error).toMatchObject({
    code: 'invalid_answer',
    message: expect.stringContaining('has the header X-Has-More: true, but no X-Next-Offset'),
  });
});

test("fails instead of looping forever if the next offset doesn't advance", async ({ serve, connect }) => {
  const server = await serve(page(['a'], { more: 'true', next: '1' }));
  await expect(names(connect(server).profiles.list())).rejects.toThrow(
    /the list does not end, because the service sends the same next offset again: 1/,
  );
  expect(server.calls).toHaveLength(2);
});

test('applies call timeout, retries and signal to each list page', async ({ serve, connect }) => {
  const server = await serve(threePages[0]!, { status: 500, headers: { 'retry-after-ms': '1' } }, threePages[2]!);
  const controller = new AbortController();
  const list = connect(server).profiles.list({}, { signal: controller.signal, headers: { 'x-a': '1' } });
  expect(await names(list)).toEqual(['a', 'b', 'e']);
  expect(server.calls.every(({ headers }) => headers['x-a'] === '1')).toBe(true);
  controller.abort(new Error('enough'));
  await expect(names(list)).rejects.toThrow('enough');
});

test('iterates over lists with page tokens, and repeats the query for each page', async ({ serve, connect }) => {
  const record = { timestamp: '2026-01-01T00:00:00Z', path: '/a' };
  const server = await serve({ json: [record, record], headers: { 'X-Next-Page-Token': 'a b' } }, { json: [record] });
  const query = { start: '2026-01-01T00:00:00Z', end: '2026-01-02T00:00:00Z', search_user_id: ['a', 'b'] };
  expect(await collect(connect(server).auditLogs.list(query))).toEqual([record, record, record]);
  const url = '/audit-logs?start=2026-01-01T00%3A00%3A00Z&end=2026-01-02T00%3A00%3A00Z&search_user_id=a%2Cb';
  expect(server.calls.map((call) => call.url)).toEqual([url, `${url}&page_token=a%20b`]);
});

test("fails instead of looping forever if the page token doesn't change", async ({ serve, connect }) => {
  const server = await serve({ json: [], headers: { 'X-Next-Page-Token': 'x' } });
  const list = connect(server).auditLogs.list({ start: '2026-01-01T00:00:00Z', end: '2026-01-02T00:00:00Z' });
  await expect(collect(list)).rejects.toThrow(/the list does not end/);
  expect(server.calls).toHaveLength(2);
});
