import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { createClient } from '../../../src/client/index.ts';
import { startService } from '../../../src/service/service.ts';
import { appOf, collect, deployed, started, test } from '../../support/service/apps.ts';
import { dataDirectory } from '../../support/service/service.ts';
import { contentType, encoded, zipOf, zipWith, type Part } from '../../support/service/uploads.ts';

const hello = appOf({ greet: '({ name }) => `Hello ${name}`', add: '({ a, b }) => a + b' });

test('a deployment is running once its actions are known, and shows only the names of its variables', async ({
  client,
  deploy,
}) => {
  const deployment = await deploy(hello, { version: '1.0', env_vars: { TOKEN: 'very secret' } });
  expect(deployment).toMatchObject({
    status: 'running',
    entrypoint_rel_path: 'index.mjs',
    env_vars: { TOKEN: '' },
    region: 'aws.us-east-1a',
    source_type: 'file',
    source_checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const apps = await collect(client.apps.list());
  expect(apps).toMatchObject([
    {
      app_name: 'app',
      version: '1.0',
      deployment: deployment.id,
      actions: [{ name: 'greet' }, { name: 'add' }],
      env_vars: { TOKEN: '' },
    },
  ]);
  expect(await collect(client.apps.list({ version: '2.0' }))).toEqual([]);
  expect(await collect(client.apps.list({ app_name: 'app', query: 'AP' }))).toHaveLength(1);
});

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

for (const [name, { module, reason, log }] of Object.entries(broken)) {
  test(`a deployment that ${name} fails and says why`, async ({ client, deploy }, testInfo) => {
    const deployment = await deploy(module);
    expect(deployment).toMatchObject({ status: 'failed', status_reason: expect.stringMatching(reason) });
    const events = await collect(client.deployments.follow(deployment.id));
    expect(events.at(-1)).toMatchObject({ event: 'deployment_state', deployment: { status: 'failed' } });
    if (log) expect(events.map(({ message }) => message).join('\n')).toMatch(log);
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
  expect((await collect(client.apps.list({ version: '1.0' }))).map(({ deployment }) => deployment)).toEqual([third.id]);
  expect((await collect(client.deployments.list({ app_name: 'app', app_version: '1.0' }))).map(({ id }) => id)).toEqual(
    [third.id, second.id, first.id],
  );
  expect((await collect(client.deployments.list({ query: first.id, limit: 1 }))).map(({ id }) => id)).toEqual([
    first.id,
  ]);
  await expect(collect(client.deployments.list({ app_version: '1.0' }))).rejects.toThrow('app_version: needs app_name');
});

test('deleting a deployment stops it and removes its files', async ({ client, deploy }, testInfo) => {
  const { id } = await deploy(hello, { env_vars: { TOKEN: 'very secret' } });
  const directory = join(dataDirectory(testInfo), 'deployments', id);
  expect(existsSync(directory)).toBe(true);
  const following = collect(client.deployments.follow(id));
  await client.deployments.delete(id);
  expect((await following).at(-1)).toMatchObject({
    deployment: { status: 'stopped', status_reason: 'it was deleted' },
  });
  expect(existsSync(directory)).toBe(false);
  await client.deployments.delete(id);
  expect(await client.deployments.retrieve(id)).toMatchObject({ status: 'stopped', env_vars: { TOKEN: '' } });
  /** A payload of the greatest length. Every character is escaped in the body. */
  for (const payload of [undefined, JSON.stringify('"'.repeat(2_200_000))]) {
    const invocation = { app_name: 'app', action_name: 'greet', ...(payload !== undefined && { payload }) };
    await expect(client.invocations.create(invocation)).rejects.toThrow(/404.*deploy it first/);
  }
  await expect(client.deployments.delete('nowhere')).rejects.toThrow(/404/);
});

test('deleting a deployment ends its process even during an endless loop', async ({ client }, testInfo) => {
  const { id } = await deployed(client, "console.log('looping'); for (;;);");
  await expect.poll(async () => (await client.deployments.retrieve(id)).status).toBe('in_progress');
  for await (const { message } of client.deployments.follow(id)) if (message === 'looping') break;
  await client.deployments.delete(id);
  expect(await client.deployments.retrieve(id)).toMatchObject({ status: 'stopped', status_reason: 'it was deleted' });
  expect(readdirSync(join(dataDirectory(testInfo), 'deployments'))).toEqual([]);
});

const refused: Record<string, { parts: () => Promise<Part[]> | Part[]; status: number; message: RegExp }> = {
  'an archive that leaves its folder': {
    parts: async () => [
      ['entrypoint_rel_path', 'before'],
      ['file', await zipWith('../x'), 'file'],
    ],
    status: 400,
    message: /invalid zip file: .*\.\.\/x/,
  },
  'an archive with a link to an absolute path': {
    parts: () => linking({ a: '/etc/passwd' }),
    status: 400,
    message: /the link .*a.* leads out of the archive/,
  },
  'an archive with a link out of it': {
    parts: () => linking({ 'b/a': '../../service.db' }),
    status: 400,
    message: /the link .*b\/a.* leads out of the archive/,
  },
  'an archive with a link that leads out of it through another': {
    parts: () => linking({ 'a/b/c/root': '../../..', out: 'a/b/c/root/../../service.db' }),
    status: 400,
    message: /the link .*out.* leads out of the archive/,
  },
  'an archive with a file below a link': {
    parts: async () => [
      ['entrypoint_rel_path', 'a'],
      [
        'file',
        await zipOf([
          { name: 'a', content: 'b', options: { mode: 0o120777 } },
          { name: 'a/c', content: '' },
        ]),
        'file',
      ],
    ],
    status: 400,
    message: /two entries have the path a, or another entry needs it as its directory/,
  },
  'a Python application': {
    parts: async () => [
      ['entrypoint_rel_path', 'main.py'],
      ['file', await zipOf([{ name: 'main.py', content: '' }]), 'file'],
    ],
    status: 501,
    message: /does not support Python applications: write the entrypoint in JavaScript or TypeScript/,
  },
  'a text instead of an archive': {
    parts: () => [
      ['entrypoint_rel_path', 'a'],
      ['file', 'no zip', 'file'],
    ],
    status: 400,
    message: /invalid zip file/,
  },
  'a missing entrypoint': {
    parts: async () => [
      ['entrypoint_rel_path', 'b'],
      ['file', await zipOf([{ name: 'a', content: '' }]), 'file'],
    ],
    status: 400,
    message: /entrypoint_rel_path: there is no file/,
  },
  'an entrypoint outside the archive': {
    parts: async () => [
      ['entrypoint_rel_path', '../../service.db'],
      ['file', await zipOf([{ name: 'a', content: '' }]), 'file'],
    ],
    status: 400,
    message: /entrypoint_rel_path/,
  },
  'no archive': { parts: () => [['entrypoint_rel_path', 'a']], status: 400, message: /file: / },
  'a repository': { parts: () => [['source', '{"type":"github"}']], status: 501, message: /does not support source/ },
  'a variable with an impossible name': {
    parts: async () => [
      ['entrypoint_rel_path', 'a'],
      ['env_vars[A=B]', 'x'],
      ['file', await zipOf([{ name: 'a', content: '' }]), 'file'],
    ],
    status: 400,
    message: /env_vars\.A=B: must be a name/,
  },
};

/** An archive with a module `index.mjs` and links. */
async function linking(links: Record<string, string>): Promise<Part[]> {
  const entries = Object.entries(links).map(([name, content]) => ({ name, content, options: { mode: 0o120777 } }));
  return [
    ['entrypoint_rel_path', 'index.mjs'],
    ['file', await zipOf([{ name: 'index.mjs', content: '' }, ...entries]), 'file'],
  ];
}

for (const [name, { parts, status, message }] of Object.entries(refused)) {
  test(`answers ${status} and keeps no files of a deployment with ${name}`, async ({ service }, testInfo) => {
    const answer = await service.call('POST', '/deployments', encoded(await parts()), { 'content-type': contentType });
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    expect(JSON.stringify(answer.body)).toMatch(message);
    expect(readdirSync(join(dataDirectory(testInfo), 'deployments'))).toEqual([]);
    expect((await service.call('GET', '/deployments')).body).toEqual([]);
  });
}

test('ignores deployed variables that the service sets itself, and follows links inside the archive', async ({
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
    await using service = await startService({ dataDirectory: directory });
    await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
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
  await using service = await startService({ dataDirectory: directory });
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  expect(await collect(client.apps.list())).toHaveLength(2);
  expect(await client.invocations.create({ app_name: 'app', action_name: 'tell' })).toMatchObject({
    status: 'failed',
    status_reason: expect.stringMatching(/key/),
  });
});
