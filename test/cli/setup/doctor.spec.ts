import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { ownPlaywright } from '../../../src/service/chromium/playwright-builds.ts';
import { ownBuild } from '../../../src/service/playwright/engine-builds.ts';
import { startService } from '../../../src/service/service.ts';
import { serve } from '../../support/http/serve.ts';
import { systemChromium } from '../../support/views/chromium.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, expectExit, test as base } from '../commands.ts';
import { project } from './projects.ts';
import { isIn } from '../../../src/cli/check-playwright.ts';

/** The test with `cli` in an own process. */
const test = base.extend({ cli: async ({ cliProcess }, use) => use(cliProcess) });

/** An environment without a service. */
const unnamed = { PLAYWRIGHT_POOL_BASE_URL: '', PLAYWRIGHT_POOL_API_KEY: '' };

/** The option of a pool that the embedded service makes. */
const own = `pool: { name: 'own', size: 1, browsers: { headless: true } }`;

type Found = { check: string; level: string; message: string; fix?: string };

/** A project with two tests and a config with these options. */
async function suite(config: string): Promise<string> {
  const directory = await project({
    'package.json': '{ "name": "checked", "type": "module" }',
    'playwright.config.ts': `export default { testDir: '.', ${config} };`,
    'a.spec.ts': `import { test } from 'playwright-pool'; test('a', () => {}); test('b', () => {});`,
  });
  await symlink(path.resolve('node_modules'), path.join(directory, 'node_modules'));
  return directory;
}

/** A project without tests. Its Playwright is old and can't list any. */
async function emptySuite(files: Record<string, string> = {}): Promise<string> {
  return await project({ 'node_modules/@playwright/test/package.json': '{ "version": "1.60.9" }', ...files });
}

test('doctor finds no problem in a suite that fits the service @long', async ({ cli, service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const pool = `{ name: 'ci', size: 1, browsers: { timeoutSeconds: 30, headless: true } }`;
  const cwd = await suite(`workers: 1, timeout: 30_000, use: { pool: ${pool}, poolReplay: 'off', video: 'on' }`);
  await mkdir(outputPath('browsers/ffmpeg-1011'), { recursive: true });
  const env = { PLAYWRIGHT_BROWSERS_PATH: outputPath('browsers') };
  const { code, stdout, stderr } = await cli('doctor', { cwd, env });
  expect(code, stdout + stderr).toBe(0);
  // The service has the machine's own builds.
  expect(stdout.replaceAll(/^warning (disk|video): .*\n.*\n/gm, '')).not.toMatch(/^(?!ok )./m);
  for (const check of ['Node', 'Playwright', 'disk', 'service', 'clock', 'Chromium', 'engine', 'suite', 'pool'])
    expect(stdout).toContain(`ok      ${check}: `);
  for (const check of ['CDP', "Playwright's protocol"])
    expect(stdout).toMatch(new RegExp(`^ok      ${check}: a page opens in \\d+ ms$`, 'm'));
  expect(stdout).toContain('2 tests on 1 worker\n');
  expect((await service.call('GET', '/browsers')).body).toEqual([]);
});

test('doctor finds each option that does not fit, and says how to fix it @long', async ({ cli, service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const cwd = await suite(`workers: 3, timeout: 60_000, projects: [
      { name: 'one', use: { pool: 'ci', video: { mode: 'on' }, poolReplay: 'on' } },
      { name: 'two', use: { pool: 'missing' } },
      { name: 'three', use: { pool: { name: 'own', size: 3, browsers: { timeoutSeconds: 10, headless: true } }, poolReplay: { mode: 'on' } } },
      { name: 'four' },
    ]`);
  const env = { PLAYWRIGHT_BROWSERS_PATH: outputPath('none') };
  const { code, stdout, stderr } = await cli('doctor --json', { cwd, env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/\d of \d+ checks failed/);
  const found = JSON.parse(stdout) as Found[];
  const of = (level: string) =>
    found.filter((finding) => finding.level === level).map(({ check, message }) => `${check}: ${message}`);
  expect(of('failure')).toEqual([
    'pool: the service has no pool missing',
    'pool: the config names no pool',
    "video: one: Playwright's own video is on, but its ffmpeg is not installed",
  ]);
  const directory = ownPlaywright()!;
  const ffmpeg = await ownBuild('ffmpeg', { directory }, process.env);
  expect(of('warning')).toEqual([
    ...(ffmpeg ? [] : [expect.stringContaining('video: the service has no ffmpeg for Playwright 1.')]),
    'pool: ci has 1 browser for 3 workers',
    'timeouts: three: a browser may be idle for 10 s, and a test may take 60 s',
  ]);
  expect(found.filter(({ level, fix }) => level !== 'ok' && !fix)).toEqual([]);
});

test('doctor reports sessions whose URLs lead nowhere, and prints no token @long', async ({ cli }) => {
  await using service = await startService({ publicUrl: 'http://127.0.0.1:1' });
  const cwd = await suite('');
  const env = { PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: service.apiKey };
  const { code, stdout, stderr } = await cli('doctor --json', { cwd, env });
  expect(code).toBe(1);
  const found = JSON.parse(stdout) as Found[];
  expect(found.find(({ check }) => check === 'CDP')).toMatchObject({
    level: 'failure',
    message: expect.stringContaining('no page opens'),
    fix: expect.stringMatching(/127\.0\.0\.1:1 .*--public-url/),
  });
  expect(stdout + stderr).not.toMatch(/jwt=\w/);
});

test('doctor lists code that launches a browser or sets options without effect @long', async ({ cli, service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const use = `pool: 'ci', channel: 'chrome',\n launchOptions: { slowMo: 5 }`;
  const reporter = `reporter: [['list', { channel: 'not of a browser' }]]`;
  const cwd = await suite(
    `workers: 1, globalSetup: './global-setup.ts', ${reporter}, use: { ${use} }, /* channel: 'x' */`,
  );
  const spec = [
    `import { test } from 'playwright-pool';`,
    `test.use({ launchOptions: { args: ['--x'], executablePath: '/x' } });`,
    `test('a', async ({ browser }) => {`,
    `  // chromium.launch() in a comment`,
    `  await browser.browserType().launchPersistentContext('');`,
    `});`,
  ];
  await project({
    'global-setup.ts': `import { chromium } from '@playwright/test';\nexport default async () => {\n  await chromium.launch();\n};\n`,
    'a.spec.ts': spec.join('\n'),
    'scraper.ts': `import { chromium } from 'puppeteer';\nchromium.launch();\n`,
  });
  const { code, stdout } = await cli('doctor --json', { cwd });
  expect(code).toBe(0);
  const found = (JSON.parse(stdout) as Found[]).filter(({ check }) => check === 'sources');
  expect(found.map(({ level, message }) => `${level} ${message}`)).toEqual([
    'warning a.spec.ts:5, global-setup.ts:3: launches a browser on this machine instead of leasing one',
    'warning playwright.config.ts:1: the service must have the browser that channel names',
    'warning a.spec.ts:2: the service ignores or refuses this launch option',
  ]);
  expect(found[0]!.fix).toContain('setup project');
});

test('doctor finds a second copy of Playwright @long', async ({ cli, service }) => {
  const cwd = await suite('');
  await rm(path.join(cwd, 'node_modules'));
  const pool = 'node_modules/playwright-pool';
  const manifest = '{ "version": "1.64.0" }';
  const second = `${pool}/node_modules/@playwright/test`;
  await project({ [`${pool}/package.json`]: manifest, [`${second}/package.json`]: manifest });
  const other = path.join(cwd, second);
  await mkdir(path.join(cwd, 'node_modules/@playwright'), { recursive: true });
  await symlink(path.resolve('node_modules/@playwright/test'), path.join(cwd, 'node_modules/@playwright/test'));
  const { code, stdout } = await cli('doctor', { cwd });
  expect(code).toBe(1);
  expect(stdout).toContain(`playwright-pool loads ${other}: Playwright can't be loaded twice\n        use one version`);
  expect(stdout).toContain(`ok      service: ${service.url}`);
});

test("doctor accepts those versions of Node that can load a CommonJS test's module", ({}) => {
  const manifest = createRequire(import.meta.url)('playwright-pool/package.json') as { engines: { node: string } };
  const versions = ['v18.20.8', 'v20.18.3', 'v20.19.0', 'v21.7.3', 'v22.11.0', 'v22.12.0', 'v24.0.0'];
  expect(versions.filter((version) => isIn(manifest.engines.node, version))).toEqual([
    'v20.19.0',
    'v22.12.0',
    'v24.0.0',
  ]);
});

test('doctor refuses a Playwright that is too old or too new', ({}) => {
  const versions = ['1.60.9', '1.61.0', '1.65.1', '2.0.0', '3.1.0'];
  expect(versions.filter((version) => isIn('>=1.61 <2', version))).toEqual(['1.61.0', '1.65.1']);
});

test('doctor reports a service that is down or refuses the key, checks the suite @long', async ({ cli, service }) => {
  const cwd = await suite(`use: { pool: 'ci' }`);
  const down = await cli('doctor', { cwd, env: { PLAYWRIGHT_POOL_BASE_URL: 'http://127.0.0.1:1' } });
  expect(down).toMatchObject({ code: 1, stdout: expect.stringContaining('FAILURE service: ') });
  expect(down.stdout).toContain('ok      suite: 2 tests');
  const env = { PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: 'wrong' };
  const refused = await cli('doctor', { cwd, env });
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('PLAYWRIGHT_POOL_API_KEY') });
  expect(refused.stdout + refused.stderr).not.toContain('wrong');
});

test("doctor checks the config's service, and prints no API key @long", async ({ cli, service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 2 });
  const use = (apiKey: string) => `pool: { name: 'ci', service: { baseURL: '${service.url}', apiKey: '${apiKey}' } }`;
  const cwd = await suite(
    `workers: 2, projects: [{ name: 'one', use: { ${use(service.apiKey)} } }, { name: 'two', use: { ${use('the-wrong-key')} } }]`,
  );
  const env = { ...unnamed, PLAYWRIGHT_POOL_DATA_DIR: outputPath('data') };
  const { code, stdout, stderr } = await cli('doctor', { cwd, env });
  expect(code).toBe(1);
  expect(stdout).toContain(`ok      service: ${service.url} answers and accepts the API key`);
  expect(stdout).toContain('ok      pool: ci has 2 browsers for 2 workers');
  expect(stdout.match(/FAILURE.*/g)).toEqual([expect.stringContaining('FAILURE service: ')]);
  expect(existsSync(outputPath('data'))).toBe(false);
  for (const key of [service.apiKey, 'the-wrong-key']) expect(stdout + stderr).not.toContain(key);
});

test("doctor compares workers with a pool's real size, and time zones @long", async ({ cli, service }) => {
  await service.call('POST', '/browser_pools', { name: 'own', size: 1 });
  await service.call('POST', '/browser_pools', { name: 'own', size: 2, engine: 'firefox' });
  const pool = `pool: { name: 'own', size: 3, browsers: { timeoutSeconds: 10 } }`;
  const projects = `{ name: 'Chrome' }, { name: 'Firefox', use: { browserName: 'firefox' } },
    { name: 'Safari', use: { browserName: 'webkit', pool: 'own' } }`;
  const cwd = await suite(`workers: 3, use: { ${pool} }, projects: [${projects}]`);
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zone = local === 'Asia/Tokyo' ? 'Europe/Rome' : 'Asia/Tokyo';
  const { stdout } = await cli('doctor', { cwd, env: { TZ: zone } });
  expect(stdout).toContain(`warning time zone: browsers have the time zone ${local}, and this machine has ${zone}`);
  expect(stdout).toContain('warning pool: own has 1 browser for 3 workers');
  expect(stdout).toContain('warning pool: own with firefox has 2 browsers for 3 workers');
  expect(stdout).toContain('FAILURE pool: the service has no pool own with webkit');
  expect(stdout).toContain('browserPools.create name=own size:=3 engine=webkit');
  expect(stdout).toContain('warning timeouts: Chrome: a browser may be idle for 10 s, and a test may take 30 s');
});

test('doctor starts the embedded service and a browser to check them', async ({ cli }) => {
  const cwd = await suite(`workers: 1, use: { ${own}, poolReplay: 'on' }`);
  const env = {
    ...unnamed,
    PLAYWRIGHT_POOL_CHROMIUM: '',
    PLAYWRIGHT_POOL_NAME: '',
    PLAYWRIGHT_POOL_PROJECT: '',
    PLAYWRIGHT_POOL_TRANSPORT: '',
    PLAYWRIGHT_POOL_REAPER: ' ',
    PLAYWRIGHT_POOL_DATA_DIR: outputPath('data'),
  };
  const { code, stdout } = await cli('doctor', { cwd, env });
  expect(code, stdout).toBe(0);
  expect(stdout).toContain('ok      Chromium: a headless browser starts in ');
  expect(stdout).toMatch(/ok {6}Chromium: version \d+\.\S+ at \/\S+; Playwright \S+ was made for \d+\./);
  const isolated = process.getuid?.() === 0 ? 'each session' : 'all sessions';
  expect(stdout).toContain(`ok      isolation: ${isolated}`);
  expect(stdout).not.toContain('replay');
});

test('doctor warns if Chromium has another build than Playwright expects @long', async ({ cli }) => {
  const cwd = await suite(`workers: 1, use: { ${own} }`);
  const build = outputPath('browsers/chromium_headless_shell-999');
  const script = `#!/bin/sh\nexec '${await systemChromium()}' "$@"\n`;
  await project({ INSTALLATION_COMPLETE: '', 'chrome-linux/headless_shell': script }, build);
  await chmod(path.join(build, 'chrome-linux/headless_shell'), 0o755);
  const env = {
    ...unnamed,
    PLAYWRIGHT_POOL_CHROMIUM: '',
    PLAYWRIGHT_POOL_DATA_DIR: outputPath('data'),
    PLAYWRIGHT_BROWSERS_PATH: path.dirname(build),
  };
  const { code, stdout } = await cli('doctor', { cwd, env });
  expect(code, stdout).toBe(0);
  const warning =
    /warning Chromium: Playwright \S+ was made for build \d+ of chromium-headless-shell, .* using build 999\./;
  expect(stdout).toMatch(warning);
});

test('doctor checks the service of --data-dir, and names a missing Chromium @long', async ({ cli }) => {
  const service = `pool: { service: { baseURL: 'http://127.0.0.1:1', apiKey: 'key' } }`;
  const projects = `{ name: 'here', use: { ${service} } }, { name: 'Safari', use: { browserName: 'webkit' } }`;
  const cwd = await suite(`projects: [${projects}]`);
  const args = ['doctor', '--data-dir', outputPath('data')];
  const env = { PLAYWRIGHT_POOL_CHROMIUM: outputPath('none'), PLAYWRIGHT_BROWSERS_PATH: outputPath('none') };
  const { code, stdout } = await cli(args, { cwd, env: { ...unnamed, ...env } });
  expect(code).toBe(1);
  expect(stdout).toContain('ok      service: the embedded service starts and answers\nFAILURE Chromium: ');
  expect(stdout).toContain('Safari: 2 tests, because this machine has no webkit for this version of Playwright');
  expect(stdout).toContain(`free at ${outputPath()}`);
});

test("doctor doesn't report skipped checks as failures after Ctrl+C", async ({ env }) => {
  const silent = createServer();
  await using serving = await serve(silent);
  const asked = once(silent, 'request');
  const cwd = await emptySuite();
  await using doctor = new CliProcess(['doctor'], { cwd, env: { ...env, PLAYWRIGHT_POOL_BASE_URL: serving.url } });
  await asked;
  await expectExit(doctor, 'SIGINT', 130);
  expect(doctor.output).toMatch(/^(Checking the \w+\n)?playwright-pool: interrupted\n$/);
});

test('doctor prints the reason if Playwright cannot read the suite @long', async ({ cli }) => {
  const cwd = await suite('');
  await project({ 'bad.config.ts': 'export default { nonsense: }{ };' });
  for (const [config, reason] of [
    ['bad.config.ts', `SyntaxError [Error]: ${path.join(cwd, 'bad.config.ts')}: Unexpected token (1:27)`],
    ['nope.ts', `Error: ${path.join(cwd, 'nope.ts')} does not exist`],
  ] as const) {
    const { code, stdout } = await cli(`doctor --config ${config}`, { cwd });
    expect(code).toBe(1);
    const failure = `FAILURE suite: Playwright cannot read the suite: ${reason}\n        run npx playwright test --list`;
    expect(stdout).toContain(failure);
  }
});

test("doctor reports old versions, Plug'n'Play, a wrong clock and a full disk", async ({ cli }) => {
  await using late = await serve((_, answer) => {
    const date = new Date(Date.now() - 7_200_000).toUTCString();
    answer.writeHead(200, { 'content-type': 'application/json', date }).end('[]');
  });
  const old = `Object.defineProperty(process, 'version', { value: 'v20.18.3' }); process.versions.pnp = '3';`;
  const cwd = await emptySuite({ 'old-node.cjs': old });
  const env = {
    PLAYWRIGHT_POOL_BASE_URL: late.url,
    NODE_OPTIONS: `--require ${path.join(cwd, 'old-node.cjs')}`,
    // This file system has no free space.
    PLAYWRIGHT_POOL_DATA_DIR: '/proc/pool/data',
  };
  const { code, stdout } = await cli('doctor', { cwd, env });
  expect(code).toBe(1);
  expect(stdout).toContain('FAILURE Node: v20.18.3; ');
  expect(stdout).toContain('FAILURE Playwright: @playwright/test 1.60.9; ');
  expect(stdout).toContain("FAILURE packages: CommonJS tests can't load playwright-pool under Yarn's Plug'n'Play");
  if (process.platform === 'linux') expect(stdout).toContain('warning disk: 0 B free at /proc\n');
  expect(stdout).toMatch(/warning clock: this machine's clock differs from the service's clock by 7\d{3} s/);
});
