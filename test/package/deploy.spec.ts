import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse as parseHcl } from '@cdktn/hcl2json';
import { DCLinter } from 'dclint';
import { parse, parseAllDocuments } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { commandPath } from '../support/processes/system-commands.ts';
import { expect, test } from '../support/worker.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const deploy = join(root, 'deploy');
const kubernetes = join(deploy, 'kubernetes');
const execute = promisify(execFile);

type Container = {
  name: string;
  env: { name: string; value: string }[];
  securityContext: { capabilities: { add?: string[] }; seccompProfile: { type: string } };
};
type Pod = { terminationGracePeriodSeconds?: number; containers: Container[]; securityContext?: object };
type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: { replicas?: number; clusterIP?: string; selector?: object; template?: { metadata: object; spec: Pod } };
};
type ComposeFile = { services: { machine: { stop_grace_period: string; environment: Record<string, string> } } };

// An autoscaler and a number in the manifest would fight.
const replicas = { base: 3, 'overlays/hpa': undefined, 'overlays/keda': undefined, 'overlays/restricted': 3 };

test('kubectl renders the Kubernetes base and overlays', async () => {
  const problem = await kubectlProblem();
  test.skip(problem !== undefined, `${problem}: another test checks the files one by one`);
  const results = await renderedAll();
  const found = results.map((manifests) => ofKind(manifests, 'Deployment').spec.replicas);
  expect(found).toEqual(Object.values(replicas));

  // The restricted overlay needs no root, capabilities or unconfined system calls.
  for (const kind of ['Deployment', 'StatefulSet']) {
    const pod = ofKind(results.at(-1)!, kind).spec.template!.spec;
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(pod.containers[0]!.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: kind === 'Deployment' ? 'Localhost' : 'RuntimeDefault' },
    });
    expect(pod.containers[0]!.securityContext.capabilities.add).toBeUndefined();
  }
});

test("each Kubernetes file, and what kubectl renders, fits Kubernetes' schemas, which refuse mistakes", async ({}, testInfo) => {
  const autoscalers = ['overlays/hpa/autoscaler.yaml', 'overlays/keda/autoscaler.yaml'];
  const files = ['base/control-plane.yaml', 'base/machines.yaml', ...autoscalers];
  const rendered = (await kubectlProblem()) === undefined ? await renderedAll() : [];
  const manifests = [...(await Promise.all(files.map((file) => read(join(kubernetes, file))))), ...rendered].flat();
  const machines = ofKind(manifests, 'Deployment');
  const unknown = { ...machines, spec: { ...machines.spec, replica: 3 } } as Manifest;
  const found = await problems([...manifests, unknown], testInfo.outputPath('typed'));
  expect(found.match(/error TS.*/g)).toEqual([expect.stringMatching(/"replica"' does not exist/)]);
  const wrong = { ...machines, spec: { ...machines.spec, replicas: '3' } } as unknown as Manifest;
  await expect(problems([wrong], testInfo.outputPath('wrong'))).rejects.toThrow('replicas must be integer');
});

test('the control plane in Kubernetes finds its machines by the name of a headless service', async () => {
  const [control, machines] = await Promise.all(
    ['control-plane', 'machines'].map((name) => read(join(kubernetes, `base/${name}.yaml`))),
  );
  const env = ofKind(control!, 'StatefulSet').spec.template!.spec.containers[0]!.env;
  const { metadata, spec } = ofKind(machines!, 'Service');
  expect(spec.clusterIP).toBe('None');
  expect(env).toContainEqual({ name: 'PLAYWRIGHT_POOL_MACHINES', value: `dns://${metadata.name}:8080` });
});

test('Kubernetes, Compose and Nomad give a machine more time to stop than draining may take', async () => {
  const pod = ofKind(await read(join(kubernetes, 'base/machines.yaml')), 'Deployment').spec.template!.spec;
  const drain = pod.containers[0]!.env.find(({ name }) => name === 'PLAYWRIGHT_POOL_DRAIN_TIMEOUT')!.value;
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(Number(drain));
  const { machine } = (parse(await text('compose.yaml')) as ComposeFile).services;
  expect(machine.environment['PLAYWRIGHT_POOL_DRAIN_TIMEOUT']).toBeUndefined();
  expect(await help()).toContain('(default: 600)');
  expect(parseInt(machine.stop_grace_period, 10)).toBeGreaterThan(600);
  const nomad = await text('nomad.hcl');
  expect(/PLAYWRIGHT_POOL_DRAIN_TIMEOUT = "600"/.test(nomad) && /kill_timeout = "630s"/.test(nomad)).toBe(true);
});

test("compose.yaml fits Compose's schema, which refuses an unknown field", async ({}, testInfo) => {
  expect(schemaProblems(join(deploy, 'compose.yaml'))).toEqual([]);
  const unknown = testInfo.outputPath('unknown.yaml');
  await writeFile(unknown, (await text('compose.yaml')).replace('stop_grace_period', 'stop_period'));
  expect(schemaProblems(unknown)).toEqual([expect.stringContaining('must NOT have additional properties')]);
});

test('the Nomad job is valid HCL with a control plane and machines', async () => {
  const job = await parseHcl('nomad.hcl', await text('nomad.hcl'));
  expect(job).toMatchObject({
    job: { 'playwright-pool': [{ group: { 'control-plane': [{}], machine: [{ count: 3 }] } }] },
  });
});

test('each setting in the files of deploy/ is an option of serve', async () => {
  const options = (await help()).matchAll(/--([a-z-]+)/g);
  const known = new Set(Array.from(options, ([, name]) => name!.replaceAll('-', '_').toUpperCase()));
  known.add('API_KEY');
  const files = await readdir(deploy, { recursive: true, withFileTypes: true });
  const names = new Set<string>();
  for (const { parentPath, name } of files.filter((file) => file.isFile() && !file.name.endsWith('.json')))
    for (const [, setting] of (await readFile(join(parentPath, name), 'utf8')).matchAll(/PLAYWRIGHT_POOL_(\w+)/g))
      names.add(setting!);
  expect(names.size).toBeGreaterThan(5);
  expect([...names].filter((name) => !known.has(name))).toEqual([]);
});

test("the image contains the newest Playwright, and the manifests name the package's version", async () => {
  const { version, devDependencies } = packageJson;
  const minor = /\d+\.\d+/.exec(devDependencies['@playwright/test'])![0];
  expect(await text('Dockerfile')).toContain(`\nARG PLAYWRIGHT=${minor}\n`);
  for (const file of ['kubernetes/base/kustomization.yaml', 'nomad.hcl', 'Dockerfile'])
    expect(await text(file), file).toContain(version);
});

test('the image refuses an unknown engine at once, and installs the others and the ffmpeg for each version of Playwright', async ({}, testInfo) => {
  const script = join(deploy, 'install-engines.sh');
  const check = (ENGINES: string) => execute('sh', [script, 'check'], { env: { ...process.env, ENGINES } });
  await check('chromium');
  await check('chromium firefox webkit');
  await expect(check('chromium opera')).rejects.toThrow('there is no engine opera: use chromium, firefox, webkit');
  const dockerfile = await text('Dockerfile');
  expect(dockerfile.indexOf('install-engines.sh check')).toBeLessThan(dockerfile.indexOf('apt-get'));

  // The same script, with directories and commands of this test.
  const place = testInfo.outputPath('opt');
  const commands = testInfo.outputPath('commands');
  await mkdir(commands, { recursive: true });
  const log = testInfo.outputPath('log');
  for (const name of ['node', 'apt-get', 'rm'])
    await writeFile(join(commands, name), `#!/bin/sh\necho ${name} "$@" >> ${log}\n`, { mode: 0o755 });
  const cores = ['playwright-pool', 'playwright/1.64'].map((name) => join(place, name, 'node_modules/playwright-core'));
  for (const core of cores) await mkdir(core, { recursive: true });
  const moved = testInfo.outputPath('install-engines.sh');
  await writeFile(moved, (await text('install-engines.sh')).replaceAll('/opt/', `${place}/`));
  for (const [ENGINES, options] of [
    ['chromium', 'ffmpeg'],
    ['chromium webkit', '--with-deps ffmpeg webkit'],
  ] as const) {
    await writeFile(log, '');
    await execute('sh', [moved], { env: { ...process.env, ENGINES, PATH: `${commands}:${process.env['PATH']}` } });
    expect((await readFile(log, 'utf8')).split('\n').filter((line) => line.startsWith('node'))).toEqual(
      cores.map((core) => `node ${core}/cli.js install ${options}`),
    );
  }
});

/** The manifests of each directory of `replicas`. */
async function renderedAll(): Promise<Manifest[][]> {
  return Promise.all(
    Object.keys(replicas).map(async (directory) => {
      const { stdout } = await execute('kubectl', ['kustomize', join(kubernetes, directory)]);
      return manifestsIn(stdout);
    }),
  );
}

async function kubectlProblem(): Promise<string | undefined> {
  if (commandPath('kubectl') === undefined) return 'kubectl is missing';
  const { stdout } = await execute('kubectl', ['version', '--client', '--output=json']);
  const { clientVersion } = JSON.parse(stdout) as { clientVersion: { minor: string } };
  return Number.parseInt(clientVersion.minor, 10) < 22
    ? 'kubectl is older than 1.22, which the docs ask for'
    : undefined;
}

/** Throws if a value breaks its schema. Schemas allow unknown fields, so it returns what the compiler says of those. */
async function problems(manifests: Manifest[], directory: string): Promise<string> {
  const typed = manifests.map((manifest, index) => {
    const { apiVersion, kind } = manifest;
    const module = apiVersion.startsWith('keda.sh/') ? '@kubernetes-models/keda' : 'kubernetes-models';
    return { manifest, kind, source: `${module}/${apiVersion}`, name: `manifest${index}` };
  });
  for (const { manifest, kind, source } of typed) {
    const models = (await import(source)) as Record<string, new (data: Manifest) => { validate(): void }>;
    new models[kind]!(manifest).validate();
  }
  await mkdir(directory, { recursive: true });
  const lines = typed.map(
    ({ manifest, kind, source, name }) =>
      `export const ${name}: import('${source}').I${kind} = ${JSON.stringify(manifest, undefined, 2)};\n`,
  );
  await writeFile(join(directory, 'manifests.ts'), lines.join(''));
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2023', skipLibCheck: true };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const compiled = execute(process.execPath, [tsc, '--project', directory]);
  return (await compiled.catch((failed: { stdout: string }) => failed)).stdout;
}

function schemaProblems(composeFile: string): string[] {
  const linter = new DCLinter({ rules: {}, quiet: true, debug: false, exclude: [] });
  // The library's types lead to files that this module resolution doesn't find.
  const results = linter.lintFiles([composeFile], false) as { messages: { rule: string; message: string }[] }[];
  const problems = results.flatMap(({ messages }) => messages);
  return problems.filter(({ rule }) => rule === 'invalid-schema').map(({ message }) => message);
}

function ofKind(manifests: Manifest[], kind: string): Manifest {
  return manifests.find((manifest) => manifest.kind === kind)!;
}

async function read(file: string): Promise<Manifest[]> {
  return manifestsIn(await readFile(file, 'utf8'));
}

function manifestsIn(yaml: string): Manifest[] {
  return parseAllDocuments(yaml).map((document) => document.toJS() as Manifest);
}

function text(file: string): Promise<string> {
  return readFile(join(deploy, file), 'utf8');
}

async function help(): Promise<string> {
  const { stdout } = await execute(process.execPath, [join(root, 'dist/src/cli/main.js'), 'serve', '--help']);
  return stdout;
}
