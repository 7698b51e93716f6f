import { expect } from '@playwright/test';
import { test, type TestAnswer } from '../../support/service/service.ts';

function expectConflict(answer: TestAnswer, code = 'conflict'): void {
  expect(answer.body).toMatchObject({ code });
  expect(answer.status).toBe(409);
  expect(answer.headers.get('x-should-retry')).toBe('false');
}

test('names of live sessions are unique, and free again when the session ends', async ({ service: { call } }) => {
  const first = await call('POST', '/browsers', { name: 'one' });
  const second = await call('POST', '/browsers', { name: 'two' });
  expectConflict(await call('POST', '/browsers', { name: 'one' }));
  expectConflict(await call('PATCH', '/browsers/two', { name: 'one' }));
  expect((await call('PATCH', '/browsers/one', { name: 'one' })).status).toBe(200);
  expect((await call('DELETE', `/browsers/${first.body.session_id}`)).status).toBe(204);
  expect((await call('PATCH', `/browsers/${second.body.session_id}`, { name: 'one' })).body.name).toBe('one');
});

test('an id finds its own session even if another session has that id as its name @long', async ({
  service: { call },
}) => {
  const { body: first } = await call('POST', '/browsers', {});
  const { body: second } = await call('POST', '/browsers', { name: first.session_id });
  expect((await call('GET', `/browsers/${first.session_id}`)).body.session_id).toBe(first.session_id);
  expect((await call('DELETE', `/browsers/${first.session_id}`)).status).toBe(204);
  expect((await call('GET', `/browsers/${first.session_id}`)).body.session_id).toBe(second.session_id);
});

test('of two sessions that start at the same time one gets the name', async ({ service: { call } }) => {
  const answers = await Promise.all([
    call('POST', '/browsers', { name: 'same' }),
    call('POST', '/browsers', { name: 'same' }),
  ]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  expect((await call('GET', '/browsers')).body).toHaveLength(1);
});

test('refuses a second profile for a session', async ({ service: { call } }) => {
  await call('POST', '/profiles', { name: 'ann' });
  const { body: without } = await call('POST', '/browsers', {});
  expect(
    (await call('PATCH', `/browsers/${without.session_id}`, { profile: { name: 'ann' } })).body.profile,
  ).toMatchObject({
    name: 'ann',
  });
  expectConflict(await call('PATCH', `/browsers/${without.session_id}`, { profile: { name: 'ann' } }));
});

test('refuses a second profile or pool with the same name', async ({ service: { call } }) => {
  for (const [path, body] of [
    ['/profiles', {}],
    ['/browser_pools', { size: 1 }],
  ] as const) {
    await call('POST', path, { ...body, name: 'one' });
    await call('POST', path, { ...body, name: 'two' });
    expectConflict(await call('POST', path, { ...body, name: 'one' }));
    expectConflict(await call('PATCH', `${path}/two`, { name: 'one' }));
    expect((await call('PATCH', `${path}/one`, { name: 'one' })).status).toBe(200);
  }
});

test('a pool with a leased browser is deleted only by force', async ({ service: { call } }) => {
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', { name: 'mine' });
  expectConflict(await call('DELETE', '/browser_pools/ci'), 'pool_in_use');
  expectConflict(await call('DELETE', '/browser_pools/ci', { force: false }), 'pool_in_use');
  expect((await call('GET', `/browsers/${leased.session_id}`)).body.pool).toMatchObject({ name: 'ci' });
  expect((await call('DELETE', '/browser_pools/ci', { force: true })).status).toBe(204);
  expect((await call('GET', `/browsers/${leased.session_id}`)).status).toBe(404);
  expect((await call('GET', '/browser_pools/ci')).status).toBe(404);
});

test('a lease may not take the name of a live session', async ({ service: { call } }) => {
  await call('POST', '/browsers', { name: 'taken' });
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  expectConflict(await call('POST', '/browser_pools/ci/acquire', { name: 'taken' }));
  expect((await call('POST', '/browser_pools/ci/acquire', { name: 'free' })).body.name).toBe('free');
});

test('refuses to type into a session that has no page', async ({ service: { call } }) => {
  const { body: session } = await call('POST', '/browsers', {});
  const answer = await call('POST', `/browsers/${session.session_id}/computer/type`, { text: 'x' });
  expectConflict(answer);
  expect(answer.body.message).toMatch(/page/);
});
