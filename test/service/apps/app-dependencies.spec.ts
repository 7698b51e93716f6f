import { createServer } from 'node:http';
import { once } from 'node:events';
import { expect } from '@playwright/test';
import Kernel, { toFile } from '@onkernel/sdk';
import { appOf, collect, deployed, startApps, started, test } from '../../support/service/apps.ts';
import { TestClock } from '../../support/service/clock.ts';
import { manifestsOf, packedClient, packedPackage } from '../../support/runs/packages.ts';
import { canSeparate, startSeparateService } from '../../support/processes/separate-service.ts';
import { serve } from '../../support/http/serve.ts';
import { zipOf, type ZipPart } from '../../support/service/uploads.ts';

/** A project as the templates for the public service make it. */
const project = {
  'index.ts': `
    import Kernel, { type KernelContext } from '@onkernel/sdk';
    import { open, type Opened } from './session';
    type Input = { width: number };
    const kernel = new Kernel();
    const app = kernel.app('browser-app');
    app.action<Input, Opened>('open', async (context: KernelContext, payload?: Input): Promise<Opened> => {
      if (!payload) throw new Error('a width is required');
      console.log('opening for', context.invocation_id);
      return await open(kernel, context, payload.width);
    });
    app.action('environment', async (context: KernelContext) => process.env.ENTRYPOINT_RELPATH);`,
  'session.ts': `
    import type Kernel from '@onkernel/sdk';
    import type { KernelContext } from '@onkernel/sdk';
    export interface Opened { id: string; width: number | undefined }
    export async function open(kernel: Kernel, { invocation_id }: KernelContext, width: number): Promise<Opened> {
      const browser = await kernel.browsers.create({ invocation_id, headless: true, viewport: { width, height: 600 } });
      return { id: browser.session_id, width: browser.viewport?.width };
    }`,
  'tsconfig.json':
    '{ "compilerOptions": { "target": "ESNext", "module": "Preserve", "moduleResolution": "bundler", "strict": true } }',
};

test("the hosted service's SDK deploys and invokes a TypeScript project with a lockfile @long", async ({}, testInfo) => {
  test.setTimeout(120_000);
  test.skip(!canSeparate, 'mount namespaces cannot be made here');
  await using service = await startSeparateService(testInfo.outputPath('hidden'));
  const kernel = new Kernel({ baseURL: service.url, apiKey: service.apiKey });
  const zip = await zipOf([
    ...partsOf(project),
    ...manifestsOf({ '@onkernel/sdk': 'client.tgz' }),
    { name: 'client.tgz', content: await packedClient() },
  ]);
  const deployment = await kernel.deployments.create({
    file: await toFile(zip, 'app.zip'),
    entrypoint_rel_path: 'index.ts',
    version: '1.0.0',
    force: true,
  });
  const logged: string[] = [];
  let actions: string[] = [];
  for await (const event of await kernel.deployments.follow(deployment.id)) {
    if (event.event === 'log') logged.push(event.message);
    if (event.event === 'app_version_summary') actions = event.actions.map(({ name }) => name);
    if (event.event !== 'deployment_state') continue;
    expect(event.deployment.status, `${event.deployment.status_reason}\n${logged.join('\n')}`).not.toBe('failed');
    if (event.deployment.status === 'running') break;
  }
  expect(logged[0]).toMatch(/^Installing the dependencies of package-lock\.json: npm ci --omit=dev --ignore-scripts/);
  expect(logged.join('\n')).toMatch(/added 1 package[^]*The dependencies are installed\./);
  expect(actions).toEqual(['open', 'environment']);

  const invocation = { app_name: 'browser-app', version: '1.0.0' };
  const opened = await kernel.invocations.create({ ...invocation, action_name: 'open', payload: '{"width":500}' });
  expect(opened, opened.status_reason).toMatchObject({ status: 'succeeded' });
  expect(JSON.parse(opened.output!)).toMatchObject({ id: expect.any(String), width: 500 });
  expect(await kernel.invocations.create({ ...invocation, action_name: 'open' })).toMatchObject({
    status: 'failed',
    status_reason: 'Error: a width is required',
  });
  expect((await kernel.invocations.create({ ...invocation, action_name: 'environment' })).output).toBe('"index.ts"');
});

test('installs the packages of the lockfile without their install scripts, and keeps them over a restart', async ({}, testInfo) => {
  const files = [
    ...manifestsOf({ answer: 'answer.tgz' }),
    {
      name: 'answer.tgz',
      content: await packedPackage('answer', 'exports.answer = 42;', { postinstall: 'echo > script-ran' }),
    },
  ];
  const source = appOf(
    {
      get: "() => [answer, existsSync('node_modules/answer/script-ran'), existsSync('node_modules/development-tool')]",
    },
    "import { existsSync } from 'node:fs'; import { answer } from 'answer';",
  );
  for (const isFirst of [true, false]) {
    await using client = await startApps(testInfo);
    const deployment = isFirst ? await started(client, (await deployed(client, source, { files })).id) : undefined;
    expect(deployment?.status_reason).toBeUndefined();
    const got = await client.invocations.create({ app_name: 'app', action_name: 'get' });
    expect(got, got.status_reason).toMatchObject({ output: '[42,false,false]' });
  }
});

const dependencies = { a: '1.0.0' };
const manifest = { 'package.json': JSON.stringify({ dependencies }) };

/** The files of a deployment, and the reason that the service gives for its failure. */
const refused: [files: Record<string, string>, reason: RegExp][] = [
  [manifest, /package\.json has dependencies, but there is no lockfile: deploy it with a package-lock\.json/],
  [
    { ...manifest, 'pnpm-lock.yaml': '' },
    /pnpm-lock\.yaml needs pnpm, which isn't installed on the service's machine: install it there, or deploy/,
  ],
  [{ ...manifest, 'yarn.lock': '' }, /yarn.lock needs yarn, which isn't installed on the service's machine/],
  [{ ...manifest, 'bun.lock': '' }, /bun.lock needs bun, which isn't installed on the service's machine/],
  [{ ...manifest, 'bun.lockb': '' }, /bun.lockb needs bun, which isn't installed on the service's machine/],
  [{ 'package.json': '{' }, /package\.json is not valid JSON/],
];

test('a deployment without a usable lockfile or its tool fails and says why', async ({ deploy }) => {
  const path = process.env['PATH'];
  process.env['PATH'] = '';
  const deployments = refused.map(async ([files, reason], index) => {
    const failed = await deploy(appOf({ get: '() => 1' }), { version: `${index}`, files: partsOf(files) });
    expect(failed).toMatchObject({ status: 'failed', status_reason: expect.stringMatching(reason) });
    expect(failed.status_reason).toMatch(/^its dependencies could not be installed: /);
  });
  await Promise.all(deployments).finally(() => (process.env['PATH'] = path));
});

test("a deployment fails if its lockfile doesn't fit package.json @long", async ({ deploy }) => {
  const files = partsOf({ ...manifest, 'package-lock.json': '{"lockfileVersion":3,"packages":{}}' });
  const { status, status_reason } = await deploy(appOf({ get: '() => 1' }), { files });
  expect(status).toBe('failed');
  expect(status_reason).toMatch(
    /^its dependencies could not be installed: "npm ci .*" failed: it ended with exit code 1/,
  );
  expect(status_reason).toContain('; the log has its output');
});

test('ends an installation that takes longer than ten minutes @long', async ({}, testInfo) => {
  const clock = new TestClock();
  await using client = await startApps(testInfo, { clock });
  const server = createServer(() => {});
  await using silent = await serve(server);
  const asked = once(server, 'request');
  const files = lockedTo('a', { version: '1.0.0', resolved: `${silent.url}/a.tgz` });
  const { id } = await deployed(client, appOf({ get: '() => 1' }), { files });
  await asked;
  clock.advance(600_000);
  expect(await started(client, id)).toMatchObject({
    status: 'failed',
    status_reason: expect.stringMatching(/failed: it did not end within 600 s$/),
  });
});

test('installs packages of the public registry @long', async ({ client, deploy, invoke }) => {
  const registry = 'https://registry.npmjs.org/is-number';
  const isOnline = await fetch(registry, { signal: AbortSignal.timeout(5000) }).then(
    ({ ok }) => ok,
    () => false,
  );
  test.skip(!isOnline, `${registry} does not answer`);
  const files = lockedTo('is-number', {
    version: '7.0.0',
    resolved: `${registry}/-/is-number-7.0.0.tgz`,
    integrity: 'sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==',
  });
  const source = appOf({ get: '(text) => isNumber(text)' }, "import isNumber from 'is-number';");
  const { id, status, status_reason } = await deploy(source, { files });
  expect(status, status_reason).toBe('running');
  expect((await invoke('get', '5')).output).toBe('true');
  await client.deployments.delete(id);
  const events = await collect(client.deployments.follow(id));
  expect(events.map(({ message }) => message).join('\n')).toContain('npm http fetch GET 200');
});

function partsOf(files: Record<string, string>): ZipPart[] {
  return Object.entries(files).map(([name, content]) => ({ name, content }));
}

/** The package.json and the lockfile of a project that needs one package. */
function lockedTo(name: string, entry: { version: string; resolved: string; integrity?: string }): ZipPart[] {
  const project = { dependencies: { [name]: entry.version } };
  const packages = { '': project, [`node_modules/${name}`]: entry };
  return partsOf({
    'package.json': JSON.stringify(project),
    'package-lock.json': JSON.stringify({ lockfileVersion: 3, packages }),
  });
}
