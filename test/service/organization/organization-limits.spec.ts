import { writeFile } from 'node:fs/promises';
import { expect } from '@playwright/test';
import { BadRequestError, RateLimitError } from '@onkernel/sdk';
import type { Client } from '../../../src/client/index.ts';
import { systemChromium } from '../../support/views/chromium.ts';
import { expectRefused, test as base } from '../../support/service/organization.ts';
import { processesWith } from '../../support/processes/processes.ts';
import type { Call, TestAnswer } from '../../support/service/service.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { openDirectory } from '../../support/processes/open-directory.ts';

const none = { max_concurrent_sessions: null, max_concurrent_invocations: null, max_pooled_sessions: null };
const overLimit = { status: 429, body: { code: 'rate_limited' } };

const statuses = (answers: TestAnswer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);
/** The limit's headers: the most sessions at once, and the remaining ones. */
const toldLimit = ({ headers }: TestAnswer) => [headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')];
const start = (call: Call) => call('POST', '/browsers', { headless: true });
const createPool = (call: Call, body: object) => call('POST', '/browser_pools', { headless: true, ...body });
const countsOf = async (call: Call, pool: string) => {
  const { available_count, acquired_count } = (await call('GET', `/browser_pools/${pool}`)).body;
  return { available_count, acquired_count };
};
const idle = (call: Call, pool: string) =>
  expect.poll(async () => (await countsOf(call, pool)).available_count, { timeout: 20_000, intervals: [20] });

type Limits = Parameters<Client['projects']['limits']['update']>[1];

/** A project, calls in it, and changes of its limits. */
type Project = { id: string; call: Call; limit: (limits: Limits) => Promise<unknown> };

const test = base.extend<{ project: Project }>({
  project: async ({ client, callWith, service }, use) => {
    const { id } = await client.projects.create({ name: 'shop' });
    const limit = (limits: Limits) => client.projects.limits.update(id, limits);
    await use({ id, call: callWith(service.apiKey, id), limit });
  },
});

test('a project has no limits until set; 0 removes one, null leaves it', async ({ client, kernel, project }) => {
  const { id, call } = project;
  const { limits } = client.projects;
  expect(await limits.retrieve(id)).toEqual(none);
  const invalid = [-1, 1.5, '3', true, {}];
  const fields = Object.fromEntries(Object.keys(none).map((field) => [field, invalid]));
  await expectRefused(call, 'PATCH', `/org/projects/${id}/limits`, fields, { max_pooled_sessions: 2 });
  expect(await limits.retrieve(id)).toEqual(none);

  const set = { max_concurrent_sessions: 3, max_concurrent_invocations: 4, max_pooled_sessions: 5 };
  for (const body of [set, undefined, { max_concurrent_sessions: null }])
    expect(await limits.update(id, body)).toEqual(set);
  expect(await limits.update(id, { max_pooled_sessions: 0 })).toEqual({ ...set, max_pooled_sessions: null });
  const last = { ...none, max_concurrent_invocations: 4 };
  expect(await kernel.projects.limits.update(id, { max_concurrent_sessions: 0 })).toEqual(last);
  expect(await kernel.projects.limits.retrieve(id)).toEqual(last);
  const other = await client.projects.create({ name: 'other' });
  expect(await limits.retrieve(other.id)).toEqual(none);
});

test("the organization's default is at most its limit; 0 removes, null keeps it", async ({ client, kernel, call }) => {
  const { limits } = client.organization;
  const field = 'default_project_max_concurrent_sessions';
  const unset = { max_concurrent_sessions: 1000, [field]: null };
  await expectRefused(call, 'PATCH', '/org/limits', { [field]: [-1, 1.5, '3', true, {}, 1001] });
  await expect(kernel.organization.limits.update({ [field]: 1001 })).rejects.toThrow(BadRequestError);
  expect(await kernel.organization.limits.retrieve()).toMatchObject(unset);
  const set = { ...unset, [field]: 1000 };
  expect(await kernel.organization.limits.update({ [field]: 1000 })).toMatchObject(set);
  for (const body of [undefined, { [field]: null }]) expect(await limits.update(body)).toMatchObject(set);
  expect(await limits.update({ [field]: 0 })).toMatchObject(unset);
  expect(await limits.retrieve()).toMatchObject(unset);
});

test('refuses a session more than the project may have @long', async ({ kernel, project, service }) => {
  const { id, call, limit } = project;
  await limit({ max_concurrent_sessions: 1 });
  const { body: session } = await start(call);
  const refused = await start(call);
  expect(refused).toMatchObject({ ...overLimit, body: { message: expect.stringContaining('1 browsers at once') } });
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(toldLimit(refused)).toEqual(['1', '0']);
  const mine = kernel.withOptions({ projectID: id });
  await expect(mine.browsers.create({ headless: true })).rejects.toThrow(RateLimitError);
  // Other projects have their own.
  expect((await start(service.call)).status).toBe(200);
  await call('DELETE', `/browsers/${session.session_id}`);
  expect((await start(call)).status).toBe(200);
  await limit({ max_concurrent_sessions: 2 });
  expect(statuses([await start(call), await start(call)])).toEqual([200, 429]);
});

test('a project without a limit of its own has the default one @long', async ({ client, project: { call, limit } }) => {
  await client.organization.limits.update({ default_project_max_concurrent_sessions: 1 });
  expect(statuses([await start(call), await start(call)])).toEqual([200, 429]);
  await limit({ max_concurrent_sessions: 2 });
  expect(statuses([await start(call), await start(call)])).toEqual([200, 429]);
  await limit({ max_concurrent_sessions: 0 });
  expect((await start(call)).status).toBe(429);
  await client.organization.limits.update({ default_project_max_concurrent_sessions: 0 });
  expect((await start(call)).status).toBe(200);
});

test('sessions that start at once never exceed the limit', async ({ project: { call, limit } }) => {
  const most = isLong ? 2 : 1;
  await limit({ max_concurrent_sessions: most });
  const answers = await Promise.all(Array.from({ length: 10 }, () => start(call)));
  expect(statuses(answers)).toEqual([...Array<number>(most).fill(200), ...Array<number>(10 - most).fill(429)]);
  const { body: started } = await call('GET', '/browsers');
  expect(started).toHaveLength(most);
  await call('DELETE', `/browsers/${started[0].session_id}`);
  const failing = await call('POST', '/browsers', { headless: true, profile: { name: 'nobody' } });
  expect(failing).toMatchObject({ status: 400 });
  expect((await start(call)).status).toBe(200);
});

test('at the limit an acquire waits until a session ends', async ({ clock, project: { call, limit } }) => {
  await limit({ max_concurrent_sessions: 1 });
  const { body: single } = await start(call);
  expect((await createPool(call, { name: 'ci', size: 2 })).status).toBe(201);
  const acquire = () => call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 20 });
  const first = acquire();
  await call('DELETE', `/browsers/${single.session_id}`);
  expect(await first).toMatchObject({ status: 200 });
  expect(await start(call)).toMatchObject(overLimit);

  const second = acquire();
  await expect.poll(() => clock.pending()).toContainEqual(20_000);
  await call('POST', '/browser_pools/ci/release', { session_id: (await first).body.session_id, reuse: false });
  expect(await second).toMatchObject({ status: 200 });
  const third = acquire();
  await expect.poll(() => clock.pending()).toContainEqual(20_000);
  expect(await countsOf(call, 'ci')).toEqual({ available_count: 0, acquired_count: 1 });
  clock.advance(20_000);
  expect((await third).status).toBe(204);
});

test('pools together may be as large as the project allows @long', async ({ project: { call, limit } }) => {
  await limit({ max_pooled_sessions: 3 });
  expect((await createPool(call, { name: 'a', size: 2 })).status).toBe(201);
  const refused = await createPool(call, { name: 'b', size: 2 });
  expect(refused).toMatchObject(overLimit);
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(toldLimit(refused)).toEqual(['3', '1']);
  expect((await createPool(call, { name: 'b', size: 1 })).status).toBe(201);
  expect(await call('PATCH', '/browser_pools/b', { size: 2 })).toMatchObject(overLimit);
  expect((await call('PATCH', '/browser_pools/a', { size: 1 })).status).toBe(200);
  expect((await call('PATCH', '/browser_pools/b', { size: 2 })).status).toBe(200);
  // Single sessions have their own limit.
  expect((await start(call)).status).toBe(200);
  await call('DELETE', '/browser_pools/a');
  const answers = await Promise.all(Array.from({ length: 4 }, () => createPool(call, { size: 1 })));
  expect(statuses(answers)).toEqual([201, 429, 429, 429]);
});

test('a lowered limit ends idle browsers, a raised one fills pools @long', async ({ project: { call, limit } }) => {
  await createPool(call, { name: 'ci', size: 3 });
  await idle(call, 'ci').toBe(3);
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', {});
  await limit({ max_concurrent_sessions: 1 });
  expect(await countsOf(call, 'ci')).toEqual({ available_count: 0, acquired_count: 1 });
  expect((await call('GET', `/browsers/${leased.session_id}`)).status).toBe(200);
  await limit({ max_concurrent_sessions: 3, max_pooled_sessions: 2 });
  // The pool leaves the third one to others.
  expect((await start(call)).status).toBe(200);
  await idle(call, 'ci').toBe(1);
  await limit({ max_concurrent_sessions: 0, max_pooled_sessions: 0 });
  await idle(call, 'ci').toBe(2);
});

const small = test.extend({ serviceOptions: async ({ clock }, use) => use({ clock, maxConcurrentSessions: 2 }) });

small('the organization has a limit over all its projects', async ({ client, project: { call }, service }) => {
  expect(await client.organization.limits.retrieve()).toMatchObject({ max_concurrent_sessions: 2 });
  await createPool(call, { name: 'ci', size: 1 });
  await idle(call, 'ci').toBe(1);
  expect((await start(service.call)).status).toBe(200);
  await call('POST', '/browser_pools/ci/acquire', {});
  expect((await start(call)).status).toBe(429);
  const refused = await start(service.call);
  expect(refused).toMatchObject({ ...overLimit, body: { message: expect.stringContaining('organization') } });
  expect(toldLimit(refused)).toEqual(['2', '0']);
});

small('pools and single sessions that start at once never exceed it @long', async ({ project: { call }, service }) => {
  const answers = await Promise.all([
    ...Array.from({ length: 4 }, () => createPool(call, { size: 2 })),
    ...Array.from({ length: 6 }, () => start(service.call)),
  ]);
  const started = answers.slice(4).filter(({ status }) => status === 200).length;
  const pooled = async () => {
    const pools = (await call('GET', '/browser_pools')).body as { available_count: number }[];
    return pools.reduce((sum, { available_count }) => sum + available_count, 0);
  };
  await expect.poll(async () => started + (await pooled()), { timeout: 20_000 }).toBe(2);
  for (const { session_id } of (await service.call('GET', '/browsers')).body)
    await service.call('DELETE', `/browsers/${session_id}`);
  await expect.poll(pooled, { timeout: 20_000 }).toBe(2);
  for (const { id } of (await call('GET', '/browser_pools')).body)
    await call('DELETE', `/browser_pools/${id}`, { force: true });
  const again = await Promise.all([start(service.call), start(call), start(call), start(service.call)]);
  expect(statuses(again)).toEqual([200, 200, 429, 429]);
});

const slow = test.extend<{ place: string }>({
  place: async ({}, use) => {
    await using directory = await openDirectory();
    await use(directory.path);
  },
  serviceOptions: async ({ clock, place }, use) => {
    const [executable, go] = [`${place}/chromium`, `${place}/go`];
    const script = `#!/bin/sh\nwhile [ ! -e '${go}' ]; do sleep 0.02; done\nexec '${await systemChromium()}' "$@"\n`;
    await writeFile(executable, script, { mode: 0o755 });
    await use({ clock, chromium: { executable } });
  },
});

slow('a start that its caller aborts makes room for a pool', async ({ clock, place, service, project }) => {
  const { id, call, limit } = project;
  await limit({ max_concurrent_sessions: 1 });
  const abort = new AbortController();
  const headers = { authorization: `Bearer ${service.apiKey}`, 'x-kernel-project-id': id };
  const starting = fetch(`${service.url}/browsers`, { method: 'POST', headers, signal: abort.signal });
  await expect.poll(() => processesWith(`${place}/chromium`)).not.toEqual([]);
  await createPool(call, { name: 'ci', size: 1 });
  const waiting = call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 20 });
  await expect.poll(() => clock.pending()).toContainEqual(20_000);
  abort.abort();
  await expect(starting).rejects.toThrow(/abort/);
  await writeFile(`${place}/go`, '');
  expect((await waiting).status).toBe(200);
});
