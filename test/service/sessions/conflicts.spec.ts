import { expect } from '@playwright/test';
import type { TestAnswer } from '../../support/service/service.ts';
import { test } from '../../support/service/shared-service.ts';

test.describe.configure({ mode: 'default' });

function expectConflict(answer: TestAnswer, code = 'conflict'): void {
  expect(answer.body).toMatchObject({ code });
  expect(answer.status).toBe(409);
  expect(answer.headers.get('x-should-retry')).toBe('false');
}

test('names of live sessions are unique, also of two that start at once, and of leases', async ({ call }) => {
  const start = (name: string) => call('POST', '/browsers', { name });
  const answers = await Promise.all([start('one'), start('one')]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  expect((await call('GET', '/browsers')).body).toHaveLength(1);
  const { body: second } = await start('two');
  expectConflict(await start('one'));
  expectConflict(await call('PATCH', '/browsers/two', { name: 'one' }));
  expect((await call('PATCH', '/browsers/one', { name: 'one' })).status).toBe(200);
  const { body: first } = answers.find(({ status }) => status === 200)!;
  expect((await call('DELETE', `/browsers/${first.session_id}`)).status).toBe(204);
  expect((await call('PATCH', `/browsers/${second.session_id}`, { name: 'one' })).body.name).toBe('one');

  await test.step('refuses text for a session without a page, and a second profile', async () => {
    const answer = await call('POST', `/browsers/${second.session_id}/computer/type`, { text: 'x' });
    expectConflict(answer);
    expect(answer.body.message).toMatch(/page/);
    await call('POST', '/profiles', { name: 'ann' });
    const load = () => call('PATCH', '/browsers/one', { profile: { name: 'ann' } });
    expect((await load()).body.profile).toMatchObject({ name: 'ann' });
    expectConflict(await load());
  });

  await test.step('a pool with a lease is deleted only by force', async () => {
    await call('POST', '/browser_pools', { size: 1, name: 'ci' });
    expectConflict(await call('POST', '/browser_pools/ci/acquire', { name: 'one' }));
    const { body: leased } = await call('POST', '/browser_pools/ci/acquire', { name: 'free' });
    expect(leased.name).toBe('free');
    expectConflict(await call('DELETE', '/browser_pools/ci'), 'pool_in_use');
    expectConflict(await call('DELETE', '/browser_pools/ci', { force: false }), 'pool_in_use');
    expect((await call('GET', `/browsers/${leased.session_id}`)).body.pool).toMatchObject({ name: 'ci' });
    expect((await call('DELETE', '/browser_pools/ci', { force: true })).status).toBe(204);
    expect((await call('GET', `/browsers/${leased.session_id}`)).status).toBe(404);
    expect((await call('GET', '/browser_pools/ci')).status).toBe(404);
  });
});

test('an id finds its own session even if another session has that id as its name @long', async ({ call }) => {
  const { body: first } = await call('POST', '/browsers', {});
  const { body: second } = await call('POST', '/browsers', { name: first.session_id });
  const path = `/browsers/${first.session_id}`;
  expect((await call('GET', path)).body.session_id).toBe(first.session_id);
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('GET', path)).body.session_id).toBe(second.session_id);
});

for (const [path, body] of [
  ['/profiles', {}],
  ['/browser_pools', { size: 1 }],
] as const)
  test(`refuses a second name in ${path}`, async ({ call }) => {
    await call('POST', path, { ...body, name: 'one' });
    await call('POST', path, { ...body, name: 'two' });
    expectConflict(await call('POST', path, { ...body, name: 'one' }));
    expectConflict(await call('PATCH', `${path}/two`, { name: 'one' }));
    expect((await call('PATCH', `${path}/one`, { name: 'one' })).status).toBe(200);
  });
