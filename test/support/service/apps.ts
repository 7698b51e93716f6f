import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { expect, type TestInfo } from '@playwright/test';
import type { Deployment } from '../../../src/contract/deployments.ts';
import type { Invocation } from '../../../src/contract/invocations.ts';
import { createClient, type Client } from '../../../src/client/index.ts';
import { startService, type ServiceOptions } from '../../../src/service/service.ts';
import { dataDirectory, test as base } from './service.ts';
export { collect } from './organization.ts';
import { expectNoProcessWith } from '../processes/processes.ts';
import { zipOf, type ZipPart } from './uploads.ts';

type Fixtures = {
  /** Deploys a module and other files, and waits until the deployment runs or has failed. */
  deploy: (module: string, options?: DeployOptions) => Promise<Deployment>;
  /** Runs an action of the application `app` to its end. */
  invoke: (action: string, payload?: unknown) => Promise<Invocation>;
};

type DeployOptions = {
  version?: string;
  force?: boolean;
  env_vars?: Record<string, string>;
  entrypoint?: string;
  /** Files beside the module. */
  files?: ZipPart[];
};

export const test = base.extend<Fixtures>({
  serviceOptions: async ({}, use, testInfo) => use({ dataDirectory: dataDirectory(testInfo) }),
  client: async ({ client, service }, use, testInfo) => {
    await use(client);
    await service.close();
    await expectNoProcessWith(testInfo.outputPath());
  },
  deploy: async ({ client }, use) => {
    await use(async (module, options) => started(client, (await deployed(client, module, options)).id));
  },
  invoke: async ({ client }, use) => {
    await use(async (action_name, payload) => {
      const { id } = await client.invocations.create({
        app_name: 'app',
        action_name,
        ...(payload !== undefined && { payload: JSON.stringify(payload) }),
      });
      return client.invocations.retrieve(id);
    });
  },
});

/** The client of a service of its own in the test's data directory. Ends the service, too. */
export async function startApps(testInfo: TestInfo, options: ServiceOptions = {}) {
  const service = await startService({ dataDirectory: dataDirectory(testInfo), ...options });
  const client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const dispose = async () => {
    await client[Symbol.asyncDispose]();
    await service.close();
  };
  return { ...client, service, [Symbol.asyncDispose]: dispose };
}

/** The source of an application. Each action is the source of a function. */
export function appOf(actions: Record<string, string>, before = ''): string {
  const entries = Object.entries(actions).map(([name, source]) => `${JSON.stringify(name)}: ${source}`);
  return `${before}\nexport default { name: 'app', actions: { ${entries.join(', ')} } };\n`;
}

/** Uploads a module as `index.mjs`. */
export async function deployed(
  client: Client,
  module: string,
  { entrypoint = 'index.mjs', files = [], ...options }: DeployOptions = {},
): Promise<Deployment> {
  const file = await zipOf([{ name: entrypoint, content: module }, ...files]);
  return client.deployments.create({ file, entrypoint_rel_path: entrypoint, ...options });
}

/** The files of the installed hosted service's SDK, as in a project's node_modules. */
export function clientFiles(): ZipPart[] {
  const directory = path.dirname(createRequire(import.meta.url).resolve('@onkernel/sdk'));
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /(\.m?js|package\.json)$/.test(name))
    .map((name) => ({
      name: `node_modules/@onkernel/sdk/${name.replaceAll(path.sep, '/')}`,
      content: readFileSync(path.join(directory, name)),
    }));
}

/** Waits until a deployment is running or has ended. */
export async function started(client: Client, id: string): Promise<Deployment> {
  const pending = new Set<string>(['queued', 'in_progress']);
  await expect
    .poll(async () => pending.has((await client.deployments.retrieve(id)).status), { timeout: 30_000 })
    .toBe(false);
  return client.deployments.retrieve(id);
}
