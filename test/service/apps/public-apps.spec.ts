import { writeFile } from 'node:fs/promises';
import { expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { loadApps } from '../../../src/service/apps/process/load-apps.ts';
import type { Invocation } from '../../../src/contract/invocations.ts';
import { clientFiles, collect, test } from '../../support/service/apps.ts';

/** How apps for the public service begin. */
const esm = "import Kernel from '@onkernel/sdk'; const kernel = new Kernel();";
const commonJs = "const Kernel = require('@onkernel/sdk'); const kernel = new Kernel();";
const app = `
  const app = kernel.app('app');
  app.action('greet', async (context, payload) => ({ text: 'Hello ' + payload.name, context }));
  app.action('context', async (context) => context.invocation_id);`;

for (const [entrypoint, source] of [
  ['index.mjs', esm + app],
  ['index.cjs', commonJs + app],
] as const) {
  test(`runs an app that ${entrypoint} defines with the hosted service's SDK @long`, async ({ deploy, invoke }) => {
    const deployment = await deploy(source, { entrypoint, files: clientFiles() });
    expect(deployment, JSON.stringify(deployment)).toMatchObject({ status: 'running' });
    expectGreeting(await invoke('greet', { name: 'Ann' }));
    const told = await invoke('context');
    expect(told.output).toBe(JSON.stringify(told.id));
  });
}

test("a deployment has all apps that the hosted service's SDK defines", async ({ client, deploy, invoke, service }) => {
  const kernel = new Kernel({ baseURL: service.url, apiKey: service.apiKey });
  const two = `import type {} from '@onkernel/sdk'; ${esm}${app}
    app.action('which', async (context) => 'app');
    kernel.app('second').action('which', async (context) => 'second');
    export default app;`;
  const deployment = await deploy(two, { entrypoint: 'index.ts', files: clientFiles(), version: '1.0' });
  expect(deployment, JSON.stringify(deployment)).toMatchObject({ status: 'running' });
  const invokeOf = (app_name: string, action_name: string, payload: unknown = null) =>
    client.invocations.create({ app_name, version: '1.0', action_name, payload: JSON.stringify(payload) });
  expectGreeting(await invokeOf('app', 'greet', { name: 'Ann' }));
  const { id } = deployment;
  const versions = await collect(client.apps.list());
  expect(versions.map((version) => [version.app_name, version.deployment, version.actions.at(-1)!.name])).toEqual([
    ['app', id, 'which'],
    ['second', id, 'which'],
  ]);
  expect(new Set(versions.map((version) => version.id)).size).toBe(2);
  expect(await collect(client.apps.list({ app_name: 'second' }))).toMatchObject([{ deployment: id, version: '1.0' }]);
  expect(await collect(client.deployments.list({ app_name: 'second', query: 'SECO' }))).toMatchObject([{ id }]);
  expect(await collect(client.deployments.list({ query: 'which' }))).toEqual([]);
  for (const name of ['app', 'second']) expect((await invokeOf(name, 'which')).output).toBe(JSON.stringify(name));

  const following = kernel.deployments.follow(id).then((events) => collect(events));
  const one = "export default { name: 'second', actions: { which: () => 'own' } };";
  expect(await deploy(one, { version: '1.0' })).toMatchObject({ status: 'failed' });
  expect(await deploy(one, { version: '1.0', force: true })).toMatchObject({ status: 'running' });
  const events = await following;
  const names = events.flatMap((event) => (event.event === 'app_version_summary' ? [event.app_name] : []));
  expect(names).toEqual(['app', 'second']);
  expect(events.at(-1)).toMatchObject({ deployment: { status: 'stopped' } });
  await expect(invoke('which')).rejects.toThrow(/404/);
  expect((await invokeOf('second', 'which')).output).toBe('"own"');
});

const typeScript = `
  import { greeting, Kind } from './lib/greeting';
  import { mark } from '@/mark';
  type Named = { name: string };
  class Greeter { constructor(private readonly word: string) {} greet({ name }: Named): string { return this.word + name; } }
  export default { name: 'app', actions: {
    greet: async (payload: Named) => [new Greeter(greeting).greet(payload) + mark + Kind.Polite, (await import('./lib')).value],
    fail: () => { throw new Error('not today'); },
  } };`;

test('runs TypeScript with enums, paths of tsconfig.json and short imports', async ({ client, deploy, invoke }) => {
  const files = [
    { name: 'tsconfig.json', content: '{ "compilerOptions": { "paths": { "@/*": ["./lib/*"] } } } // comment' },
    {
      name: 'lib/greeting.ts',
      content: "export enum Kind { Polite = 'Sir' } export const greeting = 'Hello ' as string;",
    },
    { name: 'lib/mark.ts', content: "export const mark = ', ' as const;" },
    { name: 'lib/index.js', content: 'exports.value = 5;' },
  ];
  const deployment = await deploy(typeScript, { entrypoint: 'index.ts', files });
  expect(deployment, deployment.status_reason).toMatchObject({ status: 'running', entrypoint_rel_path: 'index.ts' });
  expect((await invoke('greet', { name: 'Ann' })).output).toBe('["Hello Ann, Sir",5]');
  const failed = await invoke('fail');
  expect(failed).toMatchObject({ status: 'failed', status_reason: 'Error: not today' });
  const logged = (await collect(client.invocations.follow(failed.id))).map(({ message }) => message).join('\n');
  expect(logged, 'the line of the source').toMatch(/index\.ts:8:/);
});

test('finds modules that a JavaScript app imports without their extension @long', async ({ deploy, invoke }) => {
  const source = "import { value } from './lib/value'; export default { name: 'app', actions: { get: () => value } };";
  const files = [{ name: 'lib/value.mjs', content: 'export const value = 5;' }];
  expect(await deploy(source, { files })).toMatchObject({ status: 'running' });
  expect((await invoke('get')).output).toBe('5');
});

test("without jiti, TypeScript apps and apps of the hosted service's SDK fail with the command that installs it", async ({}, testInfo) => {
  for (const [name, source] of [
    ['app.ts', 'export default 1;'],
    ['app.mjs', 'export {};'],
  ] as const) {
    const entrypoint = testInfo.outputPath(name);
    await writeFile(entrypoint, source);
    await expect(loadApps(entrypoint, undefined)).rejects.toThrow(/npm install jiti/);
  }
});

test("says why a deployment with the hosted service's SDK fails @long", async ({ deploy }) => {
  for (const [source, reason, entrypoint = 'index.mjs'] of [
    [esm, /defines no app: .* must call app\(name\) of @onkernel\/sdk/],
    [`${esm} kernel.app('');`, /the name of an app must be a non-empty string, not ''/],
    // The action has no parameters.
    [`${esm} kernel.app('app').action('a', () => 1);`, /at least/],
    ['const a: = 1;', /index\.ts:1:9/, 'index.ts'],
  ] as const) {
    const { status, status_reason } = await deploy(source, { entrypoint, files: clientFiles() });
    expect({ status, status_reason }).toEqual({ status: 'failed', status_reason: expect.stringMatching(reason) });
  }
});

type Invoked = Pick<Invocation, 'id' | 'status' | 'status_reason' | 'output'>;

function expectGreeting({ id, status, status_reason, output }: Invoked): void {
  expect(status, status_reason).toBe('succeeded');
  expect(JSON.parse(output!)).toMatchObject({ text: 'Hello Ann', context: { invocation_id: id } });
}
