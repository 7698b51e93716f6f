import { expect } from '@playwright/test';
import { test, type TestAnswer } from '../../support/service/service.ts';

/** More, the next offset, the limit and the offset, of a list page. */
const paging = ({ headers }: TestAnswer) =>
  ['x-has-more', 'x-next-offset', 'x-limit', 'x-offset'].map((name) => headers.get(name));

const names = ({ body }: TestAnswer) => (body as { name: string }[]).map(({ name }) => name);

test('divides a list into list pages, newest first', async ({ service: { call } }) => {
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b5']) await call('POST', '/profiles', { name });
  const first = await call('GET', '/profiles?limit=2');
  expect(paging(first)).toEqual(['true', '2', '2', '0']);
  const second = await call('GET', '/profiles?limit=2&offset=2');
  expect(paging(second)).toEqual(['true', '4', '2', '2']);
  const last = await call('GET', '/profiles?limit=2&offset=4');
  expect(paging(last)).toEqual(['false', '0', '2', '4']);
  expect([...names(first), ...names(second), ...names(last)].toSorted()).toEqual(['a1', 'a2', 'a3', 'a4', 'b5']);

  const all = await call('GET', '/profiles');
  expect(paging(all)).toEqual(['false', '0', '20', '0']);
  expect(names(all)).toEqual([...names(first), ...names(second), ...names(last)]);
  const created = (all.body as { created_at: string }[]).map(({ created_at }) => created_at);
  expect(created).toEqual(created.toSorted().toReversed());
  expect(await call('GET', '/profiles?offset=99')).toMatchObject({ status: 200, body: [] });
});

test('finds profiles and pools by part of their name or id and by their exact name', async ({ service: { call } }) => {
  const { body: ann } = await call('POST', '/profiles', { name: 'CI-main' });
  await call('POST', '/profiles', { name: 'other' });
  const { body: ci } = await call('POST', '/browser_pools', { size: 1, name: 'CI-main' });
  await call('POST', '/browser_pools', { size: 1, name: 'other' });
  const first = await call('GET', '/browser_pools?limit=1');
  expect(paging(first)).toEqual(['true', '1', '1', '0']);
  const second = await call('GET', '/browser_pools?limit=1&offset=1');
  expect([...names(first), ...names(second)].toSorted()).toEqual(['CI-main', 'other']);
  for (const [path, id] of [
    ['/profiles', ann.id],
    ['/browser_pools', ci.id],
  ])
    for (const [query, found] of [
      ['query=ci-', ['CI-main']],
      [`query=${id}`, ['CI-main']],
      ['name=other', ['other']],
      ['name=oth', []],
      ['query=%25', []],
    ] as const)
      expect(names(await call('GET', `${path}?${query}`)), `${path}?${query}`).toEqual(found);

  // The former holder of a released browser can't find it.
  const { body: leased } = await call('POST', '/browser_pools/other/acquire', {});
  const session = `/browsers/${leased.session_id}`;
  const files = `${session}/fs/list_files?path=/`;
  expect((await call('GET', files)).status).toBe(200);
  await call('POST', '/browser_pools/other/release', { session_id: leased.session_id });
  for (const [method, path] of [
    ['GET', session],
    ['DELETE', session],
    ['GET', files],
  ] as const)
    // prettier-ignore
    expect((await call(method, path)).status, `${method} ${path}`).toBe(404);
  expect((await call('POST', '/browser_pools/other/acquire', {})).body.session_id).toBe(leased.session_id);
});

test('finds sessions by status, tags and text, but no idle ones of pools @long', async ({ service: { call } }) => {
  await call('POST', '/browser_pools', { size: 2, name: 'ci-1' });
  await expect
    .poll(async () => (await call('GET', '/browser_pools/ci-1')).body.available_count, { timeout: 20_000 })
    .toBe(2);
  await call('POST', '/browser_pools/ci-1/acquire', { name: 'leased', tags: { team: 'a' } });
  await call('POST', '/profiles', { name: 'ann-1' });
  await call('POST', '/browsers', { name: 'single-1', tags: { team: 'a', run: 'x y' }, profile: { name: 'ann-1' } });
  await call('POST', '/browsers', { name: 'ended' });
  const { body: ended } = await call('GET', '/browsers/ended');
  await call('DELETE', '/browsers/ended');

  // Ids are searched, too, and have no hyphens.
  for (const [query, found] of [
    ['', ['single-1', 'leased']],
    ['?status=active', ['single-1', 'leased']],
    ['?status=deleted', ['ended']],
    ['?status=all', ['ended', 'single-1', 'leased']],
    ['?include_deleted=true', ['ended', 'single-1', 'leased']],
    ['?tags[team]=a', ['single-1', 'leased']],
    ['?tags%5Bteam%5D=a&tags%5Brun%5D=x%20y', ['single-1']],
    ['?tags[team]=b', []],
    ['?query=gle-', ['single-1']],
    ['?query=ann-', ['single-1']],
    ['?query=ci-', ['leased']],
    ['?limit=1&offset=1', ['leased']],
  ] as const) {
    expect([query, names(await call('GET', `/browsers${query}`))]).toEqual([query, found]);
  }
  expect((await call('GET', `/browsers/${ended.session_id}`)).status).toBe(404);
  const { body } = await call('GET', `/browsers/${ended.session_id}?include_deleted=true`);
  expect(body).toMatchObject({ name: 'ended', deleted_at: expect.any(String) });
});
