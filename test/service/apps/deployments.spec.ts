import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { appOf, collect, deployed, startApps, started, test } from '../../support/service/apps.ts';
import { dataDirectory } from '../../support/service/service.ts';
import { contentType, encoded, zipOf, zipWith, type Part } from '../../support/service/uploads.ts';

const hello = appOf({ greet: '({ name }) => `Hello ${name}`' });

/** How a zip archive marks an entry as a symbolic link. */
const link = { mode: 0o120777 };

/** Modules that cannot start, with the reason that the service gives, and a line of the log. */
const broken: Record<string, [module: string, reason: RegExp, log?: RegExp][]> = {
  '': [
    ["console.log('so far'); throw new Error('no database');", /^Error: no database$/, /so far/],
    ['process.exit(0)', /ended with exit code 0/],
    ['export const a = 1;', /needs a default export/],
  ],
  ': further modules @long': [
    ["process.kill(process.pid, 'SIGKILL')", /ended with SIGKILL/],
    [appOf({}), /the actions in the default export must be an object with at least one function/],
    [appOf({ a: '1' }), /the action a must be a function/],
    ['export default {', /SyntaxError/, /index\.mjs/],
    ["import 'left-out';", /Cannot find package 'left-out'/],
  ],
};

for (const [title, modules] of Object.entries(broken)) {
  test(`a deployment that cannot start says why, and leaves no files${title}`, async ({ client, deploy }, testInfo) => {
    const deployments = modules.map(async ([module, reason, log = /^/], index) => {
      const { id, ...failed } = await deploy(module, { version: `${index}` });
      expect(failed, module).toMatchObject({ status: 'failed', status_reason: expect.stringMatching(reason) });
      const events = await collect(client.deployments.follow(id));
      expect(events.at(-1), module).toMatchObject({ event: 'deployment_state', deployment: { status: 'failed' } });
      expect(events.map(({ message }) => message).join('\n')).toMatch(log);
    });
    await Promise.all(deployments);
    await expect.poll(() => readdirSync(join(dataDirectory(testInfo), 'deployments'))).toEqual([]);
  });
}

test('refuses to deploy a version twice unless the caller forces it @long', async ({ client, deploy }) => {
  const first = await deploy(hello, { version: '1.0' });
  const second = await deploy(hello, { version: '1.0' });
  expect(second).toMatchObject({ status: 'failed', status_reason: expect.stringMatching(/deploy with force/) });
  expect((await deploy(hello, { version: '1.1' })).status).toBe('running');
  const third = await deploy(hello, { version: '1.0', force: true });
  expect(third.status).toBe('running');
  expect(await client.deployments.retrieve(first.id)).toMatchObject({
    status: 'stopped',
    status_reason: expect.stringContaining(third.id),
  });
  expect(await collect(client.apps.list({ version: '1.0' }))).toEqual([
    expect.objectContaining({ deployment: third.id }),
  ]);
  const idsOf = async (query: Parameters<typeof client.deployments.list>[0]) =>
    (await collect(client.deployments.list(query))).map(({ id }) => id);
  expect(await idsOf({ app_name: 'app', app_version: '1.0' })).toEqual([third.id, second.id, first.id]);
  expect(await idsOf({ query: first.id, limit: 1 })).toEqual([first.id]);
  await expect(collect(client.deployments.list({ app_version: '1.0' }))).rejects.toThrow('app_version: needs app_name');
});

test('runs once its actions are known, and leaves no files', async ({ client, deploy }, testInfo) => {
  const variables =
    '[value, process.env["my.name"], process.env.ENTRYPOINT_RELPATH, process.env.KERNEL_API_KEY !== "mine"]';
  const source = appOf(
    { greet: '({ name }) => `Hello ${name}`', get: `() => ${variables}` },
    "import { value } from 'linked';",
  );
  const deployment = await deploy(source, {
    version: '1.0',
    // The service ignores the variables that it sets itself.
    env_vars: { KERNEL_API_KEY: 'mine', ENTRYPOINT_RELPATH: 'mine', 'my.name': 'very secret' },
    files: [
      { name: 'packages/linked/index.js', content: 'exports.value = 42;' },
      { name: 'packages/linked/package.json', content: '{}' },
      { name: 'node_modules/linked', content: '../packages/linked', options: link },
      { name: 'node_modules/.bin/missing', content: '../missing/cli.js', options: link },
    ],
  });
  expect(deployment, deployment.status_reason).toMatchObject({
    status: 'running',
    entrypoint_rel_path: 'index.mjs',
    region: 'aws.us-east-1a',
    source_type: 'file',
    source_checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const { id, env_vars } = deployment;
  expect(env_vars).toEqual({ 'my.name': '' });
  const got = await client.invocations.create({ app_name: 'app', action_name: 'get', version: '1.0' });
  expect(got, got.status_reason).toMatchObject({ output: '[42,"very secret","index.mjs",true]' });
  const version = { app_name: 'app', version: '1.0', deployment: id, actions: [{ name: 'greet' }, { name: 'get' }] };
  expect(await collect(client.apps.list())).toMatchObject([{ ...version, env_vars }]);
  expect(await collect(client.apps.list({ version: '2.0' }))).toEqual([]);
  expect(await collect(client.apps.list({ app_name: 'app', query: 'AP' }))).toHaveLength(1);

  const directory = join(dataDirectory(testInfo), 'deployments');
  expect(readdirSync(directory)).toEqual([id]);
  const following = collect(client.deployments.follow(id));
  await client.deployments.delete(id);
  const stopped = { status: 'stopped', status_reason: 'it was deleted' };
  expect((await following).at(-1)).toMatchObject({ deployment: stopped });
  expect(readdirSync(directory)).toEqual([]);
  await client.deployments.delete(id);
  expect(await client.deployments.retrieve(id)).toMatchObject({ status: 'stopped', env_vars });
  /** A payload of the greatest length. Every character is escaped in the body. */
  for (const payload of [undefined, JSON.stringify('"'.repeat(2_200_000))]) {
    const invocation = { app_name: 'app', action_name: 'greet', ...(payload !== undefined && { payload }) };
    await expect(client.invocations.create(invocation)).rejects.toThrow(/404.*deploy it first/);
  }
  await expect(client.deployments.delete('nowhere')).rejects.toThrow(/404/);

  // Its process ends even during an endless loop.
  const loop = await deployed(client, "console.log('looping'); for (;;);");
  await expect.poll(async () => (await client.deployments.retrieve(loop.id)).status).toBe('in_progress');
  for await (const { message } of client.deployments.follow(loop.id)) if (message === 'looping') break;
  await client.deployments.delete(loop.id);
  expect(await client.deployments.retrieve(loop.id)).toMatchObject(stopped);
  expect(readdirSync(directory)).toEqual([]);
});

test('answers 400 or 501 to a wrong deployment, and keeps no files of it', async ({ service }, testInfo) => {
  const a = await zipOf([{ name: 'a', content: '' }]);
  const linking = (links: Record<string, string>) => {
    const entries = Object.entries(links).map(([name, content]) => ({ name, content, options: link }));
    return zipOf([{ name: 'index.mjs', content: '' }, ...entries]);
  };
  const belowLink = await zipOf([
    { name: 'a', content: 'b', options: link },
    { name: 'a/c', content: '' },
  ]);
  const python = await zipOf([{ name: 'main.py', content: '' }]);
  const through = await linking({ 'a/b/c/root': '../../..', out: 'a/b/c/root/../../service.db' });
  const refused: [status: number, message: RegExp, entrypoint?: string, file?: Buffer | string, more?: Part][] = [
    [400, /invalid zip file: .*\.\.\/x/, 'before', await zipWith('../x')],
    [400, /the link .*a.* leads out of the archive/, 'index.mjs', await linking({ a: '/etc/passwd' })],
    [400, /the link .*b\/a.* leads out of the archive/, 'index.mjs', await linking({ 'b/a': '../../service.db' })],
    [400, /the link .*out.* leads out of the archive/, 'index.mjs', through],
    [400, /two entries have the path a, or another entry needs it as its directory/, 'a', belowLink],
    [501, /not support Python applications: write the entrypoint in JavaScript or TypeScript/, 'main.py', python],
    [400, /invalid zip file/, 'a', 'no zip'],
    [400, /entrypoint_rel_path: there is no file/, 'b', a],
    [400, /entrypoint_rel_path/, '../../service.db', a],
    [400, /file: /, 'a'],
    [501, /does not support source/, undefined, undefined, ['source', '{"type":"github"}']],
    [400, /env_vars\.A=B: must be a name/, 'a', a, ['env_vars[A=B]', 'x']],
  ];
  for (const [status, message, entrypoint, file, more] of refused) {
    const parts: Part[] = [];
    if (entrypoint !== undefined) parts.push(['entrypoint_rel_path', entrypoint]);
    if (more !== undefined) parts.push(more);
    if (file !== undefined) parts.push(['file', file, 'file']);
    const answer = await service.call('POST', '/deployments', encoded(parts), { 'content-type': contentType });
    expect(answer.status, `${message}: ${JSON.stringify(answer.body)}`).toBe(status);
    expect(JSON.stringify(answer.body)).toMatch(message);
    expect(readdirSync(join(dataDirectory(testInfo), 'deployments'))).toEqual([]);
    expect((await service.call('GET', '/deployments')).body).toEqual([]);
  }
});

test('deployments belong to a project, and prevent its deletion', async ({ service, client }) => {
  const project = await client.projects.create({ name: 'other' });
  const there = { headers: { 'x-kernel-project-id': project.id } };
  const form = encoded([
    ['entrypoint_rel_path', 'index.mjs'],
    ['file', await zipOf([{ name: 'index.mjs', content: hello }]), 'file'],
  ]);
  const headers = { ...there.headers, 'content-type': contentType };
  const {
    status,
    body: { id },
  } = await service.call('POST', '/deployments', form, headers);
  expect(status).toBe(201);
  const running = async () => (await client.deployments.retrieve(id, there)).status;
  await expect.poll(running, { timeout: 30_000 }).toBe('running');
  for (const [method, path, body] of [
    ['GET', `/deployments/${id}`],
    ['GET', `/deployments/${id}/events`],
    ['DELETE', `/deployments/${id}`],
    ['POST', '/invocations', { app_name: 'app', action_name: 'greet' }],
  ] as const)
    expect((await service.call(method, path, body)).status, `${method} ${path}`).toBe(404);
  expect((await service.call('GET', '/deployments')).body).toEqual([]);
  expect((await service.call('GET', '/apps')).body).toEqual([]);
  expect(await running()).toBe('running');
  await expect(client.projects.delete(project.id)).rejects.toThrow(/409 project_not_empty: .*deployments/);
  await client.deployments.delete(id, there);
  await client.projects.delete(project.id);
});

test('encrypts variables in the database, and an invocation reports it if their key is lost', async ({}, testInfo) => {
  const directory = dataDirectory(testInfo);
  const tell = { app_name: 'app', action_name: 'tell' };
  {
    await using client = await startApps(testInfo);
    // The database keeps an output as it is, so the secret is in none.
    const source = appOf({ tell: '() => process.env.TOKEN.toUpperCase()' });
    const { id } = await started(client, (await deployed(client, source, { env_vars: { TOKEN: 'sealed secret' } })).id);
    expect(await client.invocations.create(tell)).toMatchObject({ output: '"SEALED SECRET"' });
    expect(await client.deployments.retrieve(id)).toMatchObject({ env_vars: { TOKEN: '' } });
  }
  const kept = readdirSync(directory).filter((name) => name.startsWith('service.db'));
  for (const name of kept) expect(readFileSync(join(directory, name)).includes('sealed secret'), name).toBe(false);
  rmSync(join(directory, 'secrets-key'));
  await using client = await startApps(testInfo);
  expect(await collect(client.apps.list())).toHaveLength(1);
  expect(await client.invocations.create(tell)).toMatchObject({
    status: 'failed',
    status_reason: expect.stringMatching(/key/),
  });
});
