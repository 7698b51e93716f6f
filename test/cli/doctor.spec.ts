import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { TestInfo } from '@playwright/test';
import { isIn } from '../../src/cli/check-machine.ts';
import { CliProcess } from '../support/service-process.ts';
import { expect, test } from './commands.ts';

type Found = { check: string; level: string; message: string; fix?: string };

async function project(testInfo: TestInfo, config: string): Promise<string> {
  const directory = testInfo.outputPath('project');
  await mkdir(directory, { recursive: true });
  await writeFile(path.join(directory, 'package.json'), '{ "name": "checked", "type": "module" }');
  await writeFile(path.join(directory, 'playwright.config.ts'), `export default { testDir: '.', ${config} };`);
  await writeFile(path.join(directory, 'a.spec.ts'), `import { test } from '@playwright/test'; test('a', () => {}); test('b', () => {});`);
  await symlink(path.resolve('node_modules'), path.join(directory, 'node_modules'));
  return directory;
}

test('a suite that fits its service has nothing to mend', async ({ cli, service }, testInfo) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const pool = `{ name: 'ci', size: 1, timeout_seconds: 30, headless: true }`;
  const cwd = await project(testInfo, `workers: 1, timeout: 30_000, use: { pool: ${pool}, replay: 'off', video: 'on' }`);
  await mkdir(testInfo.outputPath('browsers/ffmpeg-1011'), { recursive: true });
  const { code, stdout, stderr } = await cli(['doctor'], { cwd, env: { PLAYWRIGHT_BROWSERS_PATH: testInfo.outputPath('browsers') } });
  expect(code, stdout + stderr).toBe(0);
  expect(stdout.replace(/^warning disk: .*\n.*\n/m, '')).not.toMatch(/^(?!ok )./m);
  for (const check of ['Node', 'Playwright', 'disk', 'service', 'clock', 'suite', 'pool']) expect(stdout).toContain(`ok      ${check}: `);
  expect(stdout).toContain('2 tests on 1 workers');
});

test('what does not fit is found, each with its fix', async ({ cli, service }, testInfo) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const cwd = await project(
    testInfo,
    `workers: 3, timeout: 60_000, projects: [
      { name: 'one', use: { pool: 'ci', video: { mode: 'on' }, replay: 'on' } },
      { name: 'two', use: { pool: 'missing' } },
      { name: 'three', use: { pool: { name: 'own', size: 3, timeout_seconds: 10, headless: true }, replay: { mode: 'on' } } },
      { name: 'four' },
    ]`,
  );
  const { code, stdout, stderr } = await cli(['doctor', '--json'], { cwd, env: { PLAYWRIGHT_BROWSERS_PATH: testInfo.outputPath('none') } });
  expect(code).toBe(1);
  expect(stderr).toMatch(/\d of \d+ checks failed/);
  const found = JSON.parse(stdout) as Found[];
  const of = (level: string) => found.filter((finding) => finding.level === level).map(({ check, message }) => `${check}: ${message}`);
  expect(of('failure')).toEqual([
    'pool: the service has no pool missing',
    'pool: the config names no pool',
    "video: one: Playwright's own video is on, and its ffmpeg is not installed",
  ]);
  expect(of('warning')).toEqual([
    'pool: ci has 1 browsers for 3 workers',
    'timeouts: three: a browser may be idle for 10 s, and a test may take 60 s',
    'replay: three: replays are asked for, and the pool is headless',
  ]);
  expect(found.filter(({ level, fix }) => level !== 'ok' && !fix)).toEqual([]);
});

test('two copies of Playwright, of which tests would load both, are found', async ({ cli, service }, testInfo) => {
  const cwd = await project(testInfo, '');
  await rm(path.join(cwd, 'node_modules'));
  await mkdir(path.join(cwd, 'node_modules/@playwright'), { recursive: true });
  await symlink(path.resolve('node_modules/@playwright/test'), path.join(cwd, 'node_modules/@playwright/test'));
  const pool = path.join(cwd, 'node_modules/playwright-pool');
  const other = path.join(pool, 'node_modules/@playwright/test');
  await mkdir(other, { recursive: true });
  for (const directory of [pool, other]) await writeFile(path.join(directory, 'package.json'), '{ "version": "1.64.0" }');
  const { code, stdout } = await cli(['doctor'], { cwd });
  expect(code).toBe(1);
  expect(stdout).toContain(`playwright-pool loads ${other}: Playwright refuses to be loaded twice\n        let all packages`);
  expect(stdout).toContain(`ok      service: ${service.url}`);
});

test('Node is new enough where a CommonJS test can load a module', ({}) => {
  const { node } = (createRequire(import.meta.url)('playwright-pool/package.json') as { engines: { node: string } }).engines;
  const versions = ['v18.20.8', 'v20.18.3', 'v20.19.0', 'v21.7.3', 'v22.11.0', 'v22.12.0', 'v24.0.0'];
  expect(versions.filter((version) => isIn(node, version))).toEqual(['v20.19.0', 'v22.12.0', 'v24.0.0']);
});

test('a Playwright that is too old or too new is told', ({}) => {
  const versions = ['1.60.9', '1.61.0', '1.65.1', '2.0.0', '3.1.0'];
  expect(versions.filter((version) => isIn('>=1.61 <2', version))).toEqual(['1.61.0', '1.65.1']);
});

test('a service that is not there, and a key that it does not take, are named', async ({ cli, service }, testInfo) => {
  const cwd = await project(testInfo, '');
  const down = await cli(['doctor'], { cwd, env: { PLAYWRIGHT_POOL_BASE_URL: 'http://127.0.0.1:1' } });
  expect(down).toMatchObject({ code: 1, stdout: expect.stringContaining('FAILURE service: ') });
  const refused = await cli(['doctor'], { cwd, env: { PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: 'wrong' } });
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('PLAYWRIGHT_POOL_API_KEY') });
  expect(refused.stdout + refused.stderr).not.toContain('wrong');
});

test('the service that the config names is the one that is checked, and its key stays secret', async ({ cli, service }, testInfo) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 2 });
  const use = (apiKey: string) => `pool: 'ci', poolService: { baseURL: '${service.url}', apiKey: '${apiKey}' }`;
  const cwd = await project(
    testInfo,
    `workers: 2, projects: [{ name: 'one', use: { ${use(service.apiKey)} } }, { name: 'two', use: { ${use('the-wrong-key')} } }]`,
  );
  const env = { PLAYWRIGHT_POOL_BASE_URL: '', PLAYWRIGHT_POOL_API_KEY: '', PLAYWRIGHT_POOL_DATA_DIR: testInfo.outputPath('data') };
  const { code, stdout, stderr } = await cli(['doctor'], { cwd, env });
  expect(code).toBe(1);
  expect(stdout).toContain(`ok      service: ${service.url} answers, and takes the API key`);
  expect(stdout).toContain('ok      pool: ci has 2 browsers for 2 workers');
  expect(stdout.match(/FAILURE.*/g)).toEqual([expect.stringContaining('FAILURE service: ')]);
  expect(existsSync(testInfo.outputPath('data'))).toBe(false);
  for (const key of [service.apiKey, 'the-wrong-key']) expect(stdout + stderr).not.toContain(key);
});

test('a pool that is there has the size that it has, whatever the config defines', async ({ cli, service }, testInfo) => {
  await service.call('POST', '/browser_pools', { name: 'own', size: 1 });
  const cwd = await project(testInfo, `workers: 3, use: { pool: { name: 'own', size: 3, timeout_seconds: 10 } }`);
  const { stdout } = await cli(['doctor'], { cwd });
  expect(stdout).toContain('warning pool: own has 1 browsers for 3 workers');
  expect(stdout).toContain('warning timeouts: a browser may be idle for 10 s, and a test may take 30 s');
});

test('the embedded service is started for it, with a browser', async ({ cli }, testInfo) => {
  const cwd = await project(testInfo, `workers: 1, use: { pool: { name: 'own', size: 1, headless: true }, replay: 'on' }`);
  const env = { PLAYWRIGHT_POOL_BASE_URL: '', PLAYWRIGHT_POOL_API_KEY: '', PLAYWRIGHT_POOL_DATA_DIR: testInfo.outputPath('data') };
  const { code, stdout } = await cli(['doctor'], { cwd, env });
  expect(code, stdout).toBe(0);
  expect(stdout).toContain('ok      Chromium: a headless browser starts in ');
  expect(stdout).toContain(process.getuid?.() === 0 ? 'warning sandbox: Chromium refuses' : 'ok      sandbox: ');
  expect(stdout).not.toContain('replay');
});

test('the embedded service that the command names is checked for all projects, and a Chromium that it lacks is told', async ({
  cli,
}, testInfo) => {
  const cwd = await project(testInfo, `use: { poolService: { baseURL: 'http://127.0.0.1:1', apiKey: 'key' } }`);
  const args = ['doctor', '--data-dir', testInfo.outputPath('data')];
  const { code, stdout } = await cli(args, { cwd, env: { PLAYWRIGHT_POOL_CHROMIUM: testInfo.outputPath('none') } });
  expect(code).toBe(1);
  expect(stdout).toContain('ok      service: the embedded one starts and answers\nFAILURE Chromium: ');
  expect(stdout).toContain(`free at ${testInfo.outputPath()}`);
});

test('a doctor that is interrupted says nothing of what it had no time for', async ({ env }, testInfo) => {
  await using silent = createServer();
  const asked = once(silent, 'request');
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const cwd = await project(testInfo, '');
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  await using doctor = new CliProcess(['doctor'], { cwd, env: { ...env, PLAYWRIGHT_POOL_BASE_URL: url } });
  await asked;
  doctor.child.kill('SIGINT');
  expect(await doctor.exited).toEqual({ code: 130, signal: null });
  expect(doctor.output).toMatch(/^(Checking the \w+\n)?playwright-pool: interrupted\n$/);
  silent.closeAllConnections();
});

test('a suite that Playwright cannot read is an error with its reason alone', async ({ cli }, testInfo) => {
  const cwd = await project(testInfo, '');
  await writeFile(path.join(cwd, 'bad.config.ts'), 'export default { nonsense: }{ };');
  for (const [config, reason] of [
    ['bad.config.ts', `SyntaxError [Error]: ${path.join(cwd, 'bad.config.ts')}: Unexpected token (1:27)`],
    ['nope.ts', `Error: ${path.join(cwd, 'nope.ts')} does not exist`],
  ] as const) {
    const { code, stdout } = await cli(['doctor', '--config', config], { cwd });
    expect(code).toBe(1);
    expect(stdout).toContain(`FAILURE suite: Playwright cannot read the suite: ${reason}\n        run npx playwright test --list`);
  }
});

test('a Node and a Playwright that are too old, a clock that differs and a full disk are named', async ({ cli }, testInfo) => {
  await using late = createServer((_, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json', date: new Date(Date.now() - 7_200_000).toUTCString() }).end('[]');
  });
  await new Promise<void>((resolve) => late.listen(0, '127.0.0.1', resolve));
  const cwd = testInfo.outputPath('project');
  await mkdir(path.join(cwd, 'node_modules/@playwright/test'), { recursive: true });
  await writeFile(path.join(cwd, 'node_modules/@playwright/test/package.json'), '{ "version": "1.60.9" }');
  await writeFile(path.join(cwd, 'old-node.cjs'), `Object.defineProperty(process, 'version', { value: 'v20.18.3' });`);
  const env = {
    PLAYWRIGHT_POOL_BASE_URL: `http://127.0.0.1:${(late.address() as AddressInfo).port}`,
    NODE_OPTIONS: `--require ${path.join(cwd, 'old-node.cjs')}`,
    // Nothing has room there.
    PLAYWRIGHT_POOL_DATA_DIR: '/proc/pool/data',
  };
  const { code, stdout } = await cli(['doctor'], { cwd, env });
  expect(code).toBe(1);
  expect(stdout).toContain('FAILURE Node: v20.18.3; ');
  expect(stdout).toContain('FAILURE Playwright: @playwright/test 1.60.9; ');
  if (process.platform === 'linux') expect(stdout).toContain('warning disk: 0 B free at /proc\n');
  expect(stdout).toMatch(/warning clock: that of the service and this machine's differ by 7\d{3} s/);
});

test('a service that is not there does not hide what else was found', async ({ cli }, testInfo) => {
  const cwd = await project(testInfo, `use: { pool: 'ci' }`);
  const { code, stdout } = await cli(['doctor'], { cwd, env: { PLAYWRIGHT_POOL_BASE_URL: 'http://127.0.0.1:1' } });
  expect(code).toBe(1);
  expect(stdout).toContain('FAILURE service: ');
  expect(stdout).toContain('ok      suite: 2 tests');
});
