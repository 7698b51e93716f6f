import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { appOf, collect, deployed, startApps, started, test } from '../../support/service/apps.ts';
import { dataDirectory } from '../../support/service/service.ts';
import { contentType, encoded, zipOf, zipWith, type Part } from '../../support/service/uploads.ts';

const hello = appOf({ greet: '({ name }) => `Hello ${name}`', add: '({ a, b }) => a + b' });

const broken: Record<string, { module: string; reason: RegExp; log?: RegExp }> = {
  'crashes at start': {
    module: "console.log('so far'); throw new Error('no database');",
    reason: /^Error: no database$/,
    log: /so far/,
  },
  'exits at once': { module: 'process.exit(0)', reason: /ended with exit code 0/ },
  'kills itself': { module: "process.kill(process.pid, 'SIGKILL')", reason: /ended with SIGKILL/ },
  'has no default export': { module: 'export const a = 1;', reason: /needs a default export/ },
  'has no actions': {
    module: "export default { name: 'app', actions: {} };",
    reason: /the actions in the default export must be an object with at least one function/,
  },
  'has an action that is not a function': {
    module: "export default { name: 'app', actions: { a: 1 } };",
    reason: /the action a must be a function/,
  },
  'cannot be parsed': { module: 'export default {', reason: /SyntaxError/, log: /index\.mjs/ },
  'imports a missing package': { module: "import 'left-out';", reason: /Cannot find package 'left-out'/ },
};

test('a deployment that cannot start fails, says why and leaves no files', async ({ client, deploy }, testInfo) => {
  const deployments = Object.entries(broken).map(async ([name, { module, reason, log }]) => {
    const deployment = await deploy(module, { version: name });
    expect(deployment, name).toMatchObject({ status: 'failed', status_reason: expect.stringMatching(reason) });
    const events = await collect(client.deployments.follow(deployment.id));
    expect(events.at(-1), name).toMatchObject({ event: 'deployment_state', deployment: { status: 'failed' } });
    if (log) expect(events.map(({ message }) => message).join('\n')).toMatch(log);
  });
  await Promise.all(deployments);
  await expect.poll(() => readdirSync(join(dataDirectory(testInfo), 'deployments'))).toEqual([]);
});

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
  expect((await collect(client.apps.list({ version: '1.0' }))).map(({ deployment }) => deployment)).toEqual([third.id]);
  expect((await collect(client.deployments.list({ app_name: 'app', app_version: '1.0' }))).map(({ id }) => id)).toEqual(
    [third.id, second.id, first.id],
  );
  expect((await collect(client.deployments.list({ query: first.id, limit: 1 }))).map(({ id }) => id)).toEqual([
    first.id,
  ]);
  await expect(collect(client.deployments.list({ app_version: '1.0' }))).rejects.toThrow('app_version: needs app_name');
});

test('runs once its actions are known, hides its variables, and leaves no files', async ({
  client,
  deploy,
}, testInfo) => {
  const deployment = await deploy(hello, { version: '1.0', env_vars: { TOKEN: 'very secret' } });
  expect(deployment).toMatchObject({
    status: 'running',
    entrypoint_rel_path: 'index.mjs',
    env_vars: { TOKEN: '' },
    region: 'aws.us-east-1a',
    source_type: 'file',
    source_checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const { id } = deployment;
  const actions = [{ name: 'greet' }, { name: 'add' }];
  const version = { app_name: 'app', version: '1.0', deployment: id, actions, env_vars: { TOKEN: '' } };
  expect(await collect(client.apps.list())).toMatchObject([version]);
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
  expect(await client.deployments.retrieve(id)).toMatchObject({ status: 'stopped', env_vars: { TOKEN: '' } });
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
  const link = { mode: 0o120777 };
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
  const source: Part[] = [['source', '{"type":"github"}']];
  const refused: [status: number, message: RegExp, entrypoint?: string, file?: Buffer | string, more?: Part[]][] = [
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
    [501, /does not support source/, undefined, undefined, source],
    [400, /env_vars\.A=B: must be a name/, 'a', a, [['env_vars[A=B]', 'x']]],
  ];
  for (const [status, message, entrypoint, file, more = []] of refused) {
    const parts: Part[] = [...more];
    if (entrypoint !== undefined) parts.unshift(['entrypoint_rel_path', entrypoint]);
    if (file !== undefined) parts.push(['file', file, 'file']);
    const answer = await service.call('POST', '/deployments', encoded(parts), { 'content-type': contentType });
    expect(answer.status, `${message}: ${JSON.stringify(answer.body)}`).toBe(status);
    expect(JSON.stringify(answer.body)).toMatch(message);
    expect(readdirSync(join(dataDirectory(testInfo), 'deployments'))).toEqual([]);
    expect((await service.call('GET', '/deployments')).body).toEqual([]);
  }
});

test('ignores variables that the service sets itself, and follows links inside the archive', async ({
  deploy,
  invoke,
}) => {
  const source = appOf(
    {
      get: '() => [value, process.env["my.name"], process.env.ENTRYPOINT_RELPATH, process.env.KERNEL_API_KEY !== "mine"]',
    },
    "import { value } from 'linked';",
  );
  const link = { mode: 0o120777 };
  const deployment = await deploy(source, {
    env_vars: { KERNEL_API_KEY: 'mine', ENTRYPOINT_RELPATH: 'mine', 'my.name': 'kept' },
    files: [
      { name: 'packages/linked/index.js', content: 'exports.value = 42;' },
      { name: 'packages/linked/package.json', content: '{}' },
      { name: 'node_modules/linked', content: '../packages/linked', options: link },
      { name: 'node_modules/.bin/missing', content: '../missing/cli.js', options: link },
    ],
  });
  expect(deployment, deployment.status_reason).toMatchObject({ status: 'running', env_vars: { 'my.name': '' } });
  expect(Object.keys(deployment.env_vars!)).toEqual(['my.name']);
  expect(await invoke('get')).toMatchObject({ output: '[42,"kept","index.mjs",true]' });
});

test('deployments belong to a project, and prevent its deletion', async ({ service, client, deploy }) => {
  const { id } = await deploy(hello);
  const project = await client.projects.create({ name: 'other' });
  const elsewhere = { 'x-kernel-project-id': project.id };
  for (const path of [`/deployments/${id}`, `/deployments/${id}/events`]) {
    expect((await service.call('GET', path, undefined, elsewhere)).status, path).toBe(404);
  }
  expect((await service.call('DELETE', `/deployments/${id}`, undefined, elsewhere)).status).toBe(404);
  expect((await service.call('GET', '/deployments', undefined, elsewhere)).body).toEqual([]);
  expect((await service.call('GET', '/apps', undefined, elsewhere)).body).toEqual([]);
  const invocation = { app_name: 'app', action_name: 'greet' };
  expect((await service.call('POST', '/invocations', invocation, elsewhere)).status).toBe(404);
  const form = encoded([
    ['entrypoint_rel_path', 'index.mjs'],
    ['file', await zipOf([{ name: 'index.mjs', content: hello }]), 'file'],
  ]);
  const answer = await service.call('POST', '/deployments', form, { ...elsewhere, 'content-type': contentType });
  expect(answer.status).toBe(201);
  const there = { headers: elsewhere };
  await expect
    .poll(async () => (await client.deployments.retrieve(answer.body.id, there)).status, { timeout: 30_000 })
    .toBe('running');
  await expect(client.projects.delete(project.id)).rejects.toThrow(/409 project_not_empty: .*deployments/);
  await client.deployments.delete(answer.body.id, there);
  await client.projects.delete(project.id);
  expect((await started(client, id)).status).toBe('running');
});

test('encrypts variables in the database, and an invocation reports it if their key is lost', async ({}, testInfo) => {
  const directory = dataDirectory(testInfo);
  const source = appOf({ tell: '() => process.env.TOKEN' });
  {
    await using client = await startApps(testInfo);
    await started(client, (await deployed(client, source, { env_vars: { TOKEN: 'very secret' } })).id);
    expect(await client.invocations.create({ app_name: 'app', action_name: 'tell' })).toMatchObject({
      output: '"very secret"',
    });
    // The output above is kept as it is.
    const { id } = await started(
      client,
      (await deployed(client, source, { version: '2', env_vars: { TOKEN: 'sealed secret' } })).id,
    );
    expect(await client.deployments.retrieve(id)).toMatchObject({ env_vars: { TOKEN: '' } });
  }
  const kept = readdirSync(directory).filter((name) => name.startsWith('service.db'));
  for (const name of kept) expect(readFileSync(join(directory, name)).includes('sealed secret'), name).toBe(false);
  rmSync(join(directory, 'secrets-key'));
  await using client = await startApps(testInfo);
  expect(await collect(client.apps.list())).toHaveLength(2);
  expect(await client.invocations.create({ app_name: 'app', action_name: 'tell' })).toMatchObject({
    status: 'failed',
    status_reason: expect.stringMatching(/key/),
  });
});
