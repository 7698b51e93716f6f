import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, expectFailure, printed, test as base } from '../commands.ts';
import { npmRepository as packages, project, type Files } from './projects.ts';

// Projects of the shape that public repositories have.

const config = `import { defineConfig } from '@playwright/test';

export default defineConfig({
  reporter: 'list',
  use: { trace: 'on' },
});
`;
const spec = `import { test } from '@playwright/test';\n\ntest('a', () => {});\ntest('b', () => {});\n`;
const pooled = spec.replace('@playwright/test', 'playwright-pool');

/** `unusable` is the environment of a service that refuses all calls. */
const test = base.extend<{ unusable: Record<string, string> }>({
  unusable: async ({ answering }, use) => use(await answering((_, answer) => answer.writeHead(401).end())),
});

type Found = { check: string; level: string; message: string; fix?: string };

test('init writes no second workflow if one runs the suite', async ({ cli }) => {
  for (const [shape, scripts, workflow] of [
    ['npm run', { 'test:e2e': 'run-s build && playwright test' }, 'run: npm run test:e2e -- --forbid-only'],
    ['a script that runs another', { test: 'yarn lint && yarn e2e', e2e: 'playwright test' }, 'run: yarn test'],
    [
      'a name with an expression',
      { 'test-e2e-collab-ci-chromium': 'cross-env B=c playwright test' },
      "run: npm run test-e2e-${{ inputs.mode == 'collab' && 'collab-' || '' }}ci-${{ inputs.browser }}",
    ],
    [
      'a matrix of scripts',
      { 'test:integration': 'playwright test' },
      'matrix: [lint, "test:integration"]\n      run: yarn ${{ matrix.command }}',
    ],
    ["Playwright's image", { e2e: 'make e2e' }, 'container: mcr.microsoft.com/playwright:v1.60.0\n      run: make e2e'],
  ] as const) {
    const files = {
      ...packages,
      'package.json': JSON.stringify({ scripts }),
      'playwright.config.ts': config,
      'a.spec.ts': spec,
      '.github/workflows/test.yml': `jobs:\n  test:\n    steps:\n      ${workflow}\n`,
    };
    const cwd = await project(files, outputPath(shape));
    const stdout = printed(await cli('init --dry-run', { cwd }));
    const message = 'No workflow: .github/workflows/test.yml seems to run the suite already.\n';
    expect(stdout, shape).toContain(message);
    expect(stdout, shape).not.toContain('+++ .github');
  }
});

test('init writes a workflow beside others, and notes a missing webServer', async ({ cli }) => {
  const cwd = await project({
    ...packages,
    'package.json': JSON.stringify({ scripts: { test: 'jest', 'test:e2e': 'playwright test' } }),
    'playwright.config.ts': config,
    'a.spec.ts': spec,
    '.github/workflows/test.yml': 'run: npm test\n',
  });
  const note = 'The config has no webServer. If the tests need your application, start it here.';
  expect((await cli('init --dry-run', { cwd })).stdout).toMatch(new RegExp(`\\+ +# ${note}\\n.*playwright-pool test`));
  await project({ 'playwright.config.ts': config.replace('use:', `webServer: { command: 'x' },\n  use:`) });
  const { stdout } = await cli('init --dry-run', { cwd });
  expect(stdout).toContain('+++ .github/workflows/playwright.yml');
  expect(stdout).not.toContain(note);
});

test("init keeps a run on the terminal, and leaves a monorepo's other suites alone", async ({ cli }) => {
  const own = '{ "devDependencies": { "@playwright/test": "1.60.0" } }';
  const others = Object.fromEntries(['a', 'b', 'c'].map((name) => [`packages/${name}/playwright.config.ts`, config]));
  const cwd = await project({
    ...packages,
    'playwright.config.ts': config.replace(`  reporter: 'list',\n`, ''),
    'a.spec.ts': spec,
    ...others,
    'packages/a/a.spec.ts': spec,
    'packages/d/package.json': own,
    'packages/d/a.spec.ts': spec,
    'packages/e/package.json': '{}',
    'packages/e/a.spec.ts': spec,
  });
  const shown = printed(await cli('init --dry-run --no-ci', { cwd }));
  const changed = ['a.spec.ts', 'packages/e/a.spec.ts', 'playwright.config.ts'];
  expect(shown.match(/(?<=^\+\+\+ )\S+/gm)!.toSorted()).toEqual(changed);
  expect(shown.match(/^\+import .* 'playwright-pool';\n/gm)).toHaveLength(3);
  // The reporter `html` would serve the report of a failed run and not end.
  expect(shown).toContain(`+  reporter: [['playwright-pool/reporter'], ['list']],`);
});

test('init names the configs below a directory without one', async ({ cli }) => {
  const names = ['packages/a/playwright.config.ts', 'packages/b/e2e/playwright.config.mts'];
  const files = Object.fromEntries(names.map((name) => [name, config]));
  const cwd = await project({ ...files, 'node_modules/x/playwright.config.ts': config });
  expectFailure(await cli('init', { cwd }), 2, `run init in the directory of ${names.join(' or ')}\n`);
});

test('init gives lines of the changed files, and with --dry-run of the unchanged ones @long', async ({ cli }) => {
  const channel = config.replace(`  reporter: 'list',\n`, '').replace(`use: {`, `use: { channel: 'chrome',`);
  const cwd = await project({ ...packages, 'playwright.config.ts': channel, 'a.spec.ts': spec });
  expect((await cli('init --dry-run --no-ci', { cwd })).stdout).toContain(
    'playwright.config.ts:4: the service must have the browser that channel names',
  );
  expect((await cli('init --yes --no-ci', { cwd })).stdout).toContain(
    'playwright.config.ts:5: the service must have the browser that channel names',
  );
  expect((await readFile(path.join(cwd, 'playwright.config.ts'), 'utf8')).split('\n')[4]).toContain('channel');
});

/** A project with its own Playwright, which loads this package from its own place. */
async function withOwnPlaywright(files: Files): Promise<string> {
  const cwd = await project({ ...packages, 'playwright.config.ts': config, ...files });
  const modules = path.join(cwd, 'node_modules');
  await mkdir(path.join(modules, '@playwright/test'), { recursive: true });
  for (const name of ['package.json', 'cli.js', 'index.js', 'index.mjs', 'reporter.js']) {
    const file = await readFile(path.resolve('node_modules/@playwright/test', name));
    await writeFile(path.join(modules, '@playwright/test', name), file);
  }
  for (const name of ['playwright-core', 'playwright-pool'])
    await symlink(path.resolve('node_modules', name), path.join(modules, name));
  // A copy of the files, because Node takes links as the same package.
  await cp(path.resolve('node_modules/playwright'), path.join(modules, 'playwright'), { recursive: true });
  return cwd;
}

test('init and doctor name both copies of Playwright and the fix @long', async ({ cliProcess: cli, unusable: env }) => {
  const cwd = await withOwnPlaywright({ 'a.spec.ts': spec });
  const fix = 'use one version of @playwright/test and playwright in all packages of the repository';
  const changed = await cli('init --yes --no-ci', { cwd });
  expect(changed).toMatchObject({ code: 1, stdout: expect.stringContaining('Changed 2 files.\n') });
  // The config imports this package, and with it the other copy.
  expect(changed.stderr).toContain("Playwright can't load the suite: Error: Playwright Test did not expect test() to");
  expect(changed.stderr).toContain(`To fix it, ${fix}`);

  const { stdout } = await cli('doctor --json', { cwd, env });
  const found = JSON.parse(stdout.slice(stdout.indexOf('['))) as Found[];
  for (const check of ['Playwright', 'suite']) {
    const finding = found.find((one) => one.check === check);
    expect(finding).toMatchObject({ level: 'failure', fix: expect.stringContaining(fix) });
  }
});

for (const [title, ownTest, leased, level] of [
  ['doctor counts the tests that run in leased browsers', 'playwright-pool', 2, 'ok'],
  ['doctor warns if no test runs in a leased browser @long', '@playwright/test', 0, 'warning'],
] as const) {
  test(title, async ({ cliProcess: cli, unusable: env }) => {
    const cwd = await project({
      ...packages,
      'playwright.config.ts': `export default { workers: 2, use: { pool: 'ci' }, projects: [
        { name: 'Chrome' },
        { name: 'Firefox', use: { browserName: 'firefox', video: 'on' } },
        { name: 'Safari', use: { defaultBrowserType: 'webkit' } },
        { name: 'far', use: { connectOptions: { wsEndpoint: 'ws://127.0.0.1:1' } } },
      ] };`,
      'a.spec.ts': spec,
      'b.spec.ts': spec.replace('@playwright/test', './own.ts'),
      'own.ts': `import { test as base } from '${ownTest}';\nexport const test = base.extend({});\n`,
    });
    const { stdout } = await cli('doctor --json', { cwd, env: { ...env, PLAYWRIGHT_BROWSERS_PATH: '/none' } });
    const found = JSON.parse(stdout) as Found[];
    expect(found.filter(({ check }) => check === 'video')).toEqual([]);
    const without = ['Chrome', 'Firefox', 'Safari'].map(
      (name) => `${name}: ${4 - leased} tests without an import of playwright-pool`,
    );
    const far = 'far: 4 tests, because connectOptions is set, so Playwright connects to that browser itself';
    expect(found.find(({ check }) => check === 'suite')).toEqual({
      check: 'suite',
      level,
      message: `16 tests on 2 workers, ${leased * 3 || 'none'} of them in leased browsers (${[...without, far].join('; ')})`,
      ...(leased === 0 && { fix: expect.stringContaining('npx playwright-pool init') }),
    });
  });
}

test('doctor says how to install the package if a test cannot find it', async ({ cliProcess: cli, unusable: env }) => {
  // Elsewhere, a directory above has the package: TMPDIR can be in a clone, too.
  const place = process.platform === 'win32' ? tmpdir() : '/var/tmp';
  const cwd = await mkdtemp(path.join(place, 'playwright-pool-test-'));
  try {
    await project({ ...packages, 'playwright.config.ts': config, 'a.spec.ts': pooled }, cwd);
    await mkdir(path.join(cwd, 'node_modules'));
    await symlink(path.resolve('node_modules/@playwright'), path.join(cwd, 'node_modules/@playwright'));
    const { stdout } = await cli('doctor', { cwd, env });
    const message = /FAILURE suite: .*'playwright-pool'.*\n +run npm install --save-dev playwright-pool in the package/;
    expect(stdout).toMatch(message);
  } finally {
    await rm(cwd, { recursive: true });
  }
});

test('doctor and init name a fixture with the name of an option @long', async ({ cliProcess: cli, unusable: env }) => {
  const own = `import { test as base } from 'playwright-pool';
    export const test = base.extend({ pool: [async ({}, use) => use('mine'), { scope: 'test' }] });`;
  const files = {
    'own.js': own,
    'a.spec.js': `import { test } from './own.js';\ntest('a', async ({ pool }) => {});\n`,
  };
  const cwd = await project({ ...packages, 'playwright.config.ts': config, ...files });
  for (const args of [['doctor'], ['init', '--yes', '--no-ci']]) {
    const { stdout, stderr } = await cli(args, { cwd, env });
    expect(stdout + stderr).toContain('Fixture "pool" has already been registered');
    expect(stdout + stderr).toContain('rename your fixture of that name');
  }
});
