import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { DockerEngine, dockerProblem, EngineError } from '../support/processes/docker.ts';
import { cleanEnvironment } from '../support/runs/playwright-run.ts';
import { expect, test as base } from '../support/runs/pool-run.ts';
import { perWorker } from '../support/worker.ts';

// The image, in a Docker engine that the tests start.

const root = fileURLToPath(new URL('../..', import.meta.url));
const playwright = createRequire(import.meta.url).resolve('@playwright/test/cli');
const execute = promisify(execFile);
const key = 'key-of-the-containers';
const fewCapabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETFCAP', 'SETGID', 'SETUID'].map(
  (name) => `--cap-add=${name}`,
);

type ComposeService = { environment: Record<string, string>; security_opt: string[] };
const test = base.extend<{ engine: DockerEngine; anyEngine: DockerEngine | EngineError }>({
  anyEngine: [
    perWorker(async (use) => {
      let engine: DockerEngine;
      try {
        engine = await DockerEngine.start('1.65 1.64');
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
        return await use(error);
      }
      await use(engine);
      await engine[Symbol.asyncDispose]();
    }),
    { timeout: 900_000 },
  ],

  engine: async ({ anyEngine }, use) => {
    if (anyEngine instanceof EngineError) return test.skip(true, anyEngine.message);
    await use(anyEngine);
    await anyEngine.removeContainers();
  },
});

test.describe.configure({ mode: 'default', timeout: 600_000 });
test.skip(dockerProblem() !== undefined, `no Docker engine: ${dockerProblem()}`);

test('Chromium in the container image keeps its sandbox and its namespaces, as root with few capabilities and as an ordinary user @long', async ({
  engine,
}) => {
  const users = { root: fewCapabilities, pool: ['--user=pool', '--env=PLAYWRIGHT_POOL_ALLOW_SHARED_USER=1'] };
  for (const [name, options] of Object.entries(users)) {
    const limits = ['--cap-drop=ALL', ...options, '--security-opt=no-new-privileges:true', seccomp()];
    const identity = ['--name', name, `--env=PLAYWRIGHT_POOL_API_KEY=${key}`];
    await engine.docker('run', '--detach', ...identity, ...limits, 'playwright-pool');
    await untilHealthy(engine, name);
    const start = `
      fetch('http://127.0.0.1:8080/browsers', { method: 'POST', body: '{"headless":true}', headers: {
        authorization: 'Bearer ${key}', 'content-type': 'application/json' } })
        .then((response) => response.json()).then((session) => console.log([session.playwright_versions, session.playwright_video_versions].join(' ')))`;
    const versions = await engine.docker('exec', name, 'node', '--eval', start);
    expect(versions).toMatch(/^(1\.65\.\d+,1\.64\.\d+) \1$/);

    const processes = await engine.docker('top', name, '-eo', 'pid,uid,args');
    expect(processes).not.toContain('--no-sandbox');
    const [, pid, uid] = /^ *(\d+) +(\d+) .*--type=zygote (?!--no-zygote-sandbox)/m.exec(processes)!;
    const service = /^ *(\d+) .*playwright-pool serve/m.exec(processes)![1]!;
    if (name === 'pool') expect(uid).toBe('10001');
    else expect(Number(uid)).toBeGreaterThanOrEqual(20_000);
    for (const kind of ['user', 'mnt', 'pid', 'ipc'])
      expect(await namespaceOf(pid!, kind), kind).not.toBe(await namespaceOf(service, kind));
  }
});

test('the image refuses an unknown engine before it installs anything @long', async ({ engine }) => {
  const { stdout, stderr } = (await engine
    .build('wrong', { ENGINES: 'chromium opera' })
    .catch((error: unknown) => error)) as { stdout: string; stderr: string };
  expect(stdout + stderr).toContain('there is no engine opera: use chromium, firefox, webkit');
});

test('the container image adds less than 750 MB to its base image @long', async ({ engine }) => {
  expect((await imageSize(engine, 'playwright-pool')) - (await imageSize(engine, 'base'))).toBeLessThan(750_000_000);
});

test('an example passes on the services of compose.yaml, and scaling them during a run fails no test @long', async ({
  engine,
  start,
}, testInfo) => {
  await engine.docker('network', 'create', 'pool');
  await up(engine, 'control-plane', 1);
  await up(engine, 'machine', 3);
  await untilHealthy(engine, 'control-plane-1');
  const address = await stateOf(engine, 'control-plane-1', '.NetworkSettings.Networks.pool.IPAddress');
  const read = `
    fetch('http://127.0.0.1:8080/metrics', { headers: { authorization: 'Bearer ${key}' } })
      .then((response) => response.text()).then(console.log)`;
  const metrics = () => engine.docker('exec', 'control-plane-1', 'node', '--eval', read);
  await expect.poll(metrics, { timeout: 30_000 }).toContain('\nplaywright_pool_capacity 12\n');

  const env = { PLAYWRIGHT_POOL_BASE_URL: `http://${address}:8080`, PLAYWRIGHT_POOL_API_KEY: key };

  const [command, ...enter] = engine.enter;
  const line = [...enter, process.execPath, playwright, 'test', '--workers', '4'];
  const directory = testInfo.outputPath('todo');
  await cp(join(root, 'examples/todo'), directory, { recursive: true });
  const todo = execute(command!, line, { cwd: directory, env: { ...cleanEnvironment(), ...env } });
  const { stdout } = await todo.catch((error: { stdout: string }) => error);
  expect(stdout).toMatch(/\d+ passed[^]*, 0 leaked/);
  expect(stdout).not.toMatch(/\d+ (failed|flaky)/);

  const files = {
    'many.spec.ts': `
      import { existsSync } from 'node:fs';
      import { test, expect } from 'playwright-pool';
      for (let number = 1; number <= 199; number++) test('test ' + number, async ({ page }) => {
        await page.setContent('<button onclick="this.textContent = 1 + Number(this.textContent)">1</button>');
        await page.getByRole('button').click();
        await expect(page.getByRole('button')).toHaveText('2');
      });
      test('the run lasts until the machines have stopped', async () => {
        test.setTimeout(600_000);
        await expect.poll(() => existsSync('stopped'), { timeout: 600_000 }).toBe(true);
      });`,
  };
  const config = `workers: 4, fullyParallel: true, use: { pool: { name: 'many', size: 8 }, poolLease: 'test' },`;
  const run = start({ files, config, env, enter: engine.enter });
  const reaches = (count: number) =>
    expect.poll(() => run.output, { timeout: 240_000 }).toMatch(new RegExp(`\\[${count}/200\\]`));
  await reaches(20);
  await up(engine, 'machine', 5);
  await reaches(60);
  await engine.docker('stop', '--time', '630', 'machine-1', 'machine-2', 'machine-3');
  expect(run.process.exitCode, run.output).toBe(null);
  await writeFile(join(run.directory, 'stopped'), '');
  const result = await run.finished();
  expect(result.stats, result.output).toEqual({ passed: 200, failed: 0, flaky: 0, skipped: 0 });
  expect(result.output).toContain('0 leaked');
  for (const number of [1, 2, 3]) expect(await stateOf(engine, `machine-${number}`, '.State.ExitCode')).toBe('0');
});

/** Starts containers of a service of compose.yaml, until there are `count`. */
async function up(engine: DockerEngine, service: string, count: number): Promise<void> {
  const { services } = parse(await readFile(join(root, 'deploy/compose.yaml'), 'utf8')) as {
    services: Record<string, ComposeService>;
  };
  const { environment } = services[service]!;
  // All other variables of this form are optional.
  const settings = Object.entries({ ...environment, PLAYWRIGHT_POOL_API_KEY: key });
  const options = settings.map(([name, value]) => `--env=${name}=${value.replace(/^\$\{.*\}$/, '')}`);
  for (const option of services[service]!.security_opt)
    options.push(option.startsWith('seccomp=') ? seccomp() : `--security-opt=${option}`);
  const there = (await engine.docker('ps', '--all', '--format', '{{.Names}}')).split('\n');
  for (let number = 1; number <= count; number++) {
    const name = `${service}-${number}`;
    if (there.includes(name)) continue;
    const place = ['--network=pool', `--network-alias=${service}`, `--name=${name}`];
    await engine.docker('run', '--detach', ...place, ...options, 'playwright-pool');
  }
}

async function untilHealthy(engine: DockerEngine, name: string): Promise<void> {
  await expect.poll(() => stateOf(engine, name, '.State.Health.Status'), { timeout: 60_000 }).toBe('healthy');
}

/** A field of `docker inspect`. */
async function stateOf(engine: DockerEngine, container: string, field: string): Promise<string> {
  return await engine.docker('inspect', '--format', `{{${field}}}`, container);
}

function seccomp(): string {
  return `--security-opt=seccomp=${join(root, 'deploy/seccomp.json')}`;
}

async function imageSize(engine: DockerEngine, image: string): Promise<number> {
  return Number(await engine.docker('image', 'inspect', '--format', '{{.Size}}', image));
}

async function namespaceOf(pid: string, kind: string): Promise<string> {
  const { stdout } = await execute('readlink', [`/proc/${pid}/ns/${kind}`]);
  return stdout.trim();
}
