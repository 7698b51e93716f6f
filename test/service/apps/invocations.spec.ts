import { expect } from '@playwright/test';
import type { Client } from '../../../src/client/index.ts';
import { appOf, collect, deployed, startApps, started, test } from '../../support/service/apps.ts';
import { TestClock } from '../../support/service/clock.ts';
import { processesWith } from '../../support/processes/processes.ts';
import { zipOf } from '../../support/service/uploads.ts';

/** Begins an invocation and waits until it says that it runs. */
async function begun(client: Client, action_name: string, options: object = {}): Promise<string> {
  const { id } = await client.invocations.create({ app_name: 'app', action_name, async: true, ...options });
  for await (const event of client.invocations.follow(id)) {
    if (event.event === 'log') return id;
  }
  throw new Error('it ended without a word');
}

/** An action that says that it runs, and waits much longer than a test. */
const wait = "() => { console.log('waiting'); return new Promise((done) => setTimeout(done, 600_000)); }";

test('an action gets its payload and context, and returns the output @long', async ({ client, deploy, invoke }) => {
  const { id: deployment_id } = await deploy(
    appOf({
      add: '({ a, b }) => a + b',
      nothing: '() => {}',
      context: '(payload, context) => ({ payload, ...context })',
      fail: "() => { throw new RangeError('too far') }",
      loop: '() => { const a = {}; a.a = a; return a; }',
      leave: '() => process.exit(3)',
    }),
    { version: 'latest' },
  );
  const app = { app_name: 'app', version: 'latest' };
  const added = await invoke('add', { a: 1, b: 2 });
  expect(added).toMatchObject({ ...app, status: 'succeeded', output: '3', payload: '{"a":1,"b":2}' });
  expect(Date.parse(added.finished_at!)).toBeGreaterThanOrEqual(Date.parse(added.started_at));
  const nothing = await invoke('nothing');
  expect(nothing.status).toBe('succeeded');
  expect(nothing).not.toHaveProperty('output');
  expect(nothing).not.toHaveProperty('payload');
  const { id, output } = await invoke('context');
  expect(JSON.parse(output!)).toEqual({ ...app, invocation_id: id, action_name: 'context' });

  for (const [action, status_reason] of [
    ['fail', 'RangeError: too far'],
    ['loop', expect.stringMatching(/circular/)],
    ['leave', 'its process ended with exit code 3'],
  ] as const)
    expect(await invoke(action)).toMatchObject({ status: 'failed', status_reason });
  await expect(invoke('unknown')).rejects.toThrow(/404.*no action unknown; its actions are: add, nothing/);

  const named = async (query: Parameters<Client['invocations']['list']>[0]) =>
    (await collect(client.invocations.list(query))).map(({ action_name }) => action_name);
  const all = ['leave', 'loop', 'fail', 'context', 'nothing', 'add'];
  for (const [query, found] of [
    [{ limit: 2 }, all],
    [{ status: 'failed' }, all.slice(0, 3)],
    [{ ...app, action_name: 'add', deployment_id }, ['add']],
    [{ query: 'CONT' }, ['context']],
    [{ query: id }, ['context']],
    [{ since: '1h30m' }, all],
    [{ since: new Date(Date.now() + 60_000).toISOString() }, []],
    [{ version: '2' }, []],
  ] as const)
    expect(await named(query)).toEqual(found);
  await expect(named({ since: 'yesterday' })).rejects.toThrow(
    /400.*since: must be an RFC 3339 timestamp, or a duration/,
  );
});

test('an action gets a temporary API key of its project until it ends @long', async ({ client, deploy, service }) => {
  const project = await client.projects.create({ name: 'other' });
  const there = { headers: { 'x-kernel-project-id': project.id } };
  const who = `async () => {
    const call = (path) => fetch(process.env.PLAYWRIGHT_POOL_BASE_URL + path, { headers: { authorization: 'Bearer ' + process.env.PLAYWRIGHT_POOL_API_KEY } });
    const projects = await (await call('/org/projects')).json();
    return { key: process.env.KERNEL_API_KEY, token: process.env.TOKEN, secrets: Object.keys(process.env).filter((name) => /SERVICE_SECRET/.test(name)), projects };
  }`;
  const source = appOf({ who }, 'if (!process.env.PLAYWRIGHT_POOL_API_KEY) throw new Error("no key");');
  process.env['SERVICE_SECRET'] = 'x';
  await deploy(source);
  const file = await zipOf([{ name: 'index.mjs', content: source }]);
  const deployment = { file, entrypoint_rel_path: 'index.mjs', env_vars: { TOKEN: 'abc' } };
  const { id: deploymentId } = await client.deployments.create(deployment, there);
  const stateThere = async () => (await client.deployments.retrieve(deploymentId, there)).status;
  await expect.poll(stateThere, { timeout: 30_000 }).toBe('running');
  const { id } = await client.invocations.create({ app_name: 'app', action_name: 'who' }, there);
  delete process.env['SERVICE_SECRET'];
  const { output, status, status_reason } = await client.invocations.retrieve(id, there);
  expect({ status, status_reason }).toEqual({ status: 'succeeded', status_reason: undefined });
  const { key, token, secrets, projects } = JSON.parse(output!) as Record<string, unknown>;
  expect(projects).toMatchObject([{ id: project.id }]);
  expect({ token, secrets }).toEqual({ token: 'abc', secrets: [] });
  const answer = await service.call('GET', '/browsers', undefined, { authorization: `Bearer ${String(key)}` });
  expect(answer.status).toBe(401);
});

test("browsers that are created with an invocation's id end with that invocation @long", async ({ client, deploy }) => {
  const browse = `async ({ wait }, { invocation_id }) => {
    const answer = await fetch(process.env.PLAYWRIGHT_POOL_BASE_URL + '/browsers', {
      method: 'POST',
      headers: { authorization: 'Bearer ' + process.env.PLAYWRIGHT_POOL_API_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ invocation_id, headless: true }),
    });
    const { session_id } = await answer.json();
    console.log(session_id);
    if (wait) await new Promise((done) => setTimeout(done, 600_000));
    return session_id;
  }`;
  await deploy(appOf({ browse }));
  const created = await client.invocations.create({ app_name: 'app', action_name: 'browse', payload: '{}' });
  expect(created.status).toBe('succeeded');
  await expect(client.browsers.retrieve(JSON.parse(created.output!) as string)).rejects.toThrow(/404/);

  const id = await begun(client, 'browse', { payload: '{"wait":true}' });
  const { browsers } = await client.invocations.listBrowsers(id);
  expect(browsers).toHaveLength(1);
  await client.invocations.deleteBrowsers(id);
  expect(await client.invocations.listBrowsers(id)).toEqual({ browsers: [] });
  expect(await client.invocations.retrieve(id)).toMatchObject({ status: 'running' });
  await client.browsers.create({ invocation_id: id, headless: true, name: 'by-hand' });

  expect(await client.invocations.update(id, { status: 'failed', output: '"so far"' })).toMatchObject({
    status: 'failed',
    status_reason: 'it was cancelled',
    output: '"so far"',
  });
  await expect(client.browsers.retrieve('by-hand')).rejects.toThrow(/404/);
  await expect(client.invocations.update(id, { status: 'succeeded' })).rejects.toThrow(/400.*has failed already/);
  for (const [invocation_id, problem] of [
    [id, /400.*invocation_id: the invocation .* has failed already/],
    ['nowhere', /400.*invocation_id: there is no invocation nowhere/],
  ] as const)
    await expect(client.browsers.create({ invocation_id })).rejects.toThrow(problem);
});

test('ends a list page early if payloads and outputs are large @long', async ({ client, deploy, invoke }) => {
  await deploy(appOf({ echo: '(payload) => payload' }));
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.unshift((await invoke('echo', 'x'.repeat(4_400_000))).id);
  const pages = await collect(client.invocations.list({ limit: 100 }).pages());
  expect(pages.map(({ items }) => items.map(({ id }) => id))).toEqual(ids.map((id) => [id]));
});

test('limits invocations; call or deployment ends them', async ({ client, deploy, service: { call } }, testInfo) => {
  const work = `async () => {
    console.log('working');
    const headers = { authorization: 'Bearer ' + process.env.PLAYWRIGHT_POOL_API_KEY };
    while ((await fetch(process.env.PLAYWRIGHT_POOL_BASE_URL + '/browsers', { headers })).status !== 401);
    return 'done';
  }`;
  const { id: deploymentId } = await deploy(appOf({ wait, work }));
  const invocation = { app_name: 'app', action_name: 'wait', async: true };
  const [project] = await collect(client.projects.list());
  await client.projects.limits.update(project!.id, { max_concurrent_invocations: 1 });
  const working = await begun(client, 'work');
  const more = client.invocations.create(invocation, { maxRetries: 0 });
  await expect(more).rejects.toThrow(/429 rate_limited: 1 invocations of the project are running/);
  const { headers } = await call('POST', '/invocations', invocation);
  expect(Object.fromEntries(headers)).toMatchObject({ 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' });
  const [key] = await collect(client.apiKeys.list({ name: `invocation ${working}` }));
  await client.apiKeys.delete(key!.id);
  const events = await collect(client.invocations.follow(working));
  expect(events.at(-1)).toMatchObject({ invocation: { status: 'succeeded', output: '"done"' } });

  const running = await begun(client, 'wait');
  await client.invocations.update(running, { status: 'succeeded', output: '1' });
  expect(await client.invocations.retrieve(running)).toMatchObject({ status: 'succeeded', output: '1' });
  const next = await client.invocations.create(invocation);
  expect(next.status).toBe('queued');
  await client.invocations.update(next.id, { status: 'failed' });

  const hangUp = new AbortController();
  client.invocations.create({ ...invocation, async: false }, { signal: hangUp.signal }).catch(() => {});
  const first = async () => (await collect(client.invocations.list()))[0];
  await expect.poll(async () => (await first())?.status, { timeout: 20_000 }).toBe('running');
  hangUp.abort();
  const reason = async () => (await first())?.status_reason;
  await expect.poll(reason).toBe('its caller closed the connection before it ended');

  const id = await begun(client, 'wait');
  await client.deployments.delete(deploymentId);
  expect(await client.invocations.retrieve(id)).toMatchObject({
    status: 'failed',
    status_reason: 'the deployment was stopped: it was deleted',
  });
  await expect.poll(() => processesWith(testInfo.outputPath())).toEqual([]);
});

/** Actions that the service ends, and the reasons that it gives. */
const harmful = {
  heap: [
    '() => { const all = []; for (;;) all.push(new Array(100_000).fill(Math.random())); }',
    /ran out of memory: the limit of its JavaScript heap is 512 MiB/,
  ],
  forks: [
    `async () => {
      const { spawn } = await import('node:child_process');
      for (;;) { spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }).unref(); await new Promise((done) => setTimeout(done, 5)); }
    }`,
    /started too many processes: at most 64 may run at once/,
  ],
  buffers: [
    '() => { const all = []; const more = () => { all.push(Buffer.alloc(16 * 1024 * 1024, 1)); setTimeout(more, 5); }; more(); return new Promise(() => {}); }',
    /ran out of memory: the limit of all its processes together is 1024 MiB/,
  ],
} as const;

for (const [title, names] of [
  ['whose heap grows, or that forks without end,', ['heap', 'forks']],
  ['whose buffers grow without end @long', ['buffers']],
] as const) {
  test(`ends all processes of an action ${title}`, async ({ client, deploy, invoke }) => {
    const actions = names.map((name) => [name, harmful[name][0]]);
    await deploy(appOf({ ...Object.fromEntries(actions), fine: '() => 1' }));
    const harms = names.map((name) => invoke(name));
    expect(await invoke('fine')).toMatchObject({ status: 'succeeded', output: '1' });
    const reasons = names.map((name) => expect.stringMatching(harmful[name][1]));
    expect(await Promise.all(harms)).toMatchObject(
      reasons.map((status_reason) => ({ status: 'failed', status_reason })),
    );
    await expect.poll(() => processesWith('sleep 1000')).toEqual([]);
    expect(await collect(client.browsers.list())).toEqual([]);
  });
}

test('ends actions at their timeout, even in endless loops, and keeps their records for a week', async ({}, testInfo) => {
  const clock = new TestClock();
  await using client = await startApps(testInfo, { clock });
  const looping = appOf({ loop: "() => { console.log('looping'); for (;;); }" });
  const runningId = (await started(client, (await deployed(client, looping)).id)).id;
  const id = await begun(client, 'loop', { async_timeout_seconds: 10 });
  clock.advance(10_000);
  const events = await collect(client.invocations.follow(id));
  expect(events.at(-1)).toMatchObject({
    invocation: { status: 'failed', status_reason: 'it did not end within 10 s' },
  });
  await expect.poll(() => processesWith(testInfo.outputPath())).toEqual([]);

  const { id: deploymentId } = await deployed(client, "console.log('looping'); for (;;);", { version: '2' });
  for await (const event of client.deployments.follow(deploymentId)) if (event.event === 'log') break;
  clock.advance(60_000);
  expect(await started(client, deploymentId)).toMatchObject({
    status: 'failed',
    status_reason: 'its actions could not be listed: it did not end within 60 s',
  });

  const left = async () =>
    [...(await collect(client.deployments.list())), ...(await collect(client.invocations.list()))].map(({ id }) => id);
  clock.advance(7 * 24 * 3600 * 1000 - 60_000);
  expect(await left()).toEqual([deploymentId, runningId, id]);
  clock.advance(3600 * 1000);
  expect(await left()).toEqual([runningId]);
});

test('after a restart, deployments run again and interrupted invocations are reported as failed', async ({}, testInfo) => {
  let ids: { deployment: string; invocation: string };
  {
    await using client = await startApps(testInfo);
    const { id: deployment } = await started(client, (await deployed(client, appOf({ wait }))).id);
    ids = { deployment, invocation: await begun(client, 'wait') };
  }
  expect(processesWith(testInfo.outputPath())).toEqual([]);
  await using client = await startApps(testInfo);
  expect(await client.deployments.retrieve(ids.deployment)).toMatchObject({ status: 'running' });
  expect(await client.invocations.retrieve(ids.invocation)).toMatchObject({
    status: 'failed',
    status_reason: 'the service has ended',
  });
  const events = await collect(client.invocations.follow(ids.invocation));
  expect(events.map(({ message }) => message)).toEqual(['waiting', 'failed: the service has ended']);
  await begun(client, 'wait');
});
