import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, expectFailure, printed, test, type RunCommand } from '../commands.ts';
import { npmRepository, project } from './projects.ts';

const config = `import { defineConfig, devices } from '@playwright/test';

export default defineConfig({
  testDir: './tests',
  reporter: 'html',
  use: {
    trace: 'on-first-retry',
  },
});
`;
const spec = `import { expect, test, type Page } from '@playwright/test';
import { open } from './open.ts';

test('is there', async ({ page }) => expect(await open(page)).toBe('@playwright/test'));
`;

/** The lines that `init --dry-run` would add. */
async function added(cli: RunCommand, cwd: string, options = ''): Promise<string> {
  const lines = printed(await cli(`init --dry-run ${options}`.trim(), { cwd })).split('\n');
  return lines.flatMap((line) => (line.startsWith('+') ? [line.slice(1)] : [])).join('\n');
}

test('init changes imports and config, adds a workflow, and then changes nothing', async ({ cli }) => {
  const cwd = await project({
    ...npmRepository,
    'playwright.config.ts': config,
    'tests/a.spec.ts': spec,
    'node_modules/x/a.js': spec,
  });
  const read = (name: string) => readFile(path.join(cwd, name), 'utf8');

  const shown = await cli('init --dry-run', { cwd });
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain(
    `-import { expect, test, type Page } from '@playwright/test';\n+import { expect, test, type Page } from 'playwright-pool';`,
  );
  expect(await cli('init', { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --yes') });
  expect(await read('playwright.config.ts')).toBe(config);
  expect(existsSync(path.join(cwd, '.github'))).toBe(false);

  expect((await cli('init --yes', { cwd })).stdout).toMatch(/Changed 3 files\. Run the suite: npx playwright test\n$/);
  expect(await read('playwright.config.ts')).toBe(`import { defineConfig, devices } from 'playwright-pool';

export default defineConfig({
  testDir: './tests',
  reporter: [['playwright-pool/reporter'], ['html']],
  use: {
    poolReplay: 'retain-on-failure',
    trace: 'on-first-retry',
  },
});
`);
  // Other text with the name stays.
  expect(await read('tests/a.spec.ts')).toBe(spec.replace(`from '@playwright/test'`, `from 'playwright-pool'`));
  expect(await read('node_modules/x/a.js')).toBe(spec);
  expect(await read('.github/workflows/playwright.yml')).toContain('npx playwright-pool test --shard');
  expect(await read('.github/workflows/playwright.yml')).toContain(
    'npx playwright install --with-deps chromium-headless-shell\n',
  );
  expect(printed(await cli('init --yes', { cwd }))).toContain('nothing to change');
});

test('init writes a workflow that installs and runs with pnpm and yarn', async ({ cli }) => {
  const pnpm10 = { 'package.json': '{ "packageManager": "pnpm@10.2.0" }', 'package-lock.json': '{}' };
  const yarn4 = { 'package.json': '{ "packageManager": "yarn@4.9.0" }', 'yarn.lock': '__metadata:' };
  const [action, frozen] = ['- uses: pnpm/action-setup@v4\n      ', '--frozen-lockfile'];
  const [checkout, setup] = ['actions/checkout@v5\n      ', '- uses: actions/setup-node'];
  for (const [manager, files, run, parts] of [
    [
      'pnpm',
      { 'pnpm-lock.yaml': '' },
      'pnpm exec',
      [`${action}  with:\n          version: latest`, `pnpm install ${frozen}`],
    ],
    ['pnpm 10', { ...pnpm10, 'pnpm-lock.yaml': '' }, 'pnpm exec', [`${action}- uses`, 'cache: pnpm']],
    [
      'yarn 1',
      { 'yarn.lock': '# yarn lockfile v1' },
      'yarn',
      [checkout + setup, 'cache: yarn', `yarn install ${frozen}`],
    ],
    ['yarn 4', yarn4, 'yarn', ['npm install --global corepack && corepack enable', 'yarn install --immutable']],
  ] as const) {
    const own = { '.git/HEAD': '', 'package.json': '{}', 'playwright.config.ts': config };
    const workflow = await added(cli, await project({ ...own, ...files }, outputPath(manager)));
    for (const part of [...parts, `- run: ${run} playwright-pool test --shard`])
      expect(workflow, manager).toContain(part);
    expect(workflow, manager).not.toMatch(/npx|npm ci/);
  }
});

test('init writes a workflow that installs all browsers, and names the config', async ({ cli }) => {
  const projects = `\n  projects: [{ name: 'firefox', use: { ...devices['Desktop Firefox'] } }],\n});`;
  const files = { 'playwright.config.ts': config.replace('\n});', projects), 'e2e/playwright.config.ts': config };
  const cwd = await project({ ...npmRepository, ...files });
  expect(`${await added(cli, cwd)}\n`).toContain('npx playwright install --with-deps\n');
  const below = await added(cli, cwd, '--config e2e/playwright.config.ts');
  expect(below).toContain('npx playwright-pool test --config e2e/playwright.config.ts --shard');
});

test('init lists the places that launch a browser or set options without effect', async ({ cli }) => {
  const options = `channel: 'msedge',\n    launchOptions: { executablePath: '' }`;
  const cwd = await project({
    'playwright.config.ts': config.replace(`trace: 'on-first-retry'`, options),
    'tests/a.spec.ts': spec,
    'global-setup.ts': `import { chromium } from '@playwright/test';\nexport default () => chromium.launch();\n`,
  });
  const stdout = printed(await cli('init --dry-run --no-ci', { cwd }));
  for (const line of [
    'global-setup.ts:2: launches a browser on this machine instead of leasing one. Use ',
    'playwright.config.ts:7: the service must have the browser that channel names. ',
    'playwright.config.ts:8: the service ignores or refuses this launch option. ',
  ])
    expect(stdout).toContain(`By hand: ${line}`);
});

test('init writes no workflow if one runs Playwright, or chooses another name', async ({ cli }) => {
  const workflows = '.github/workflows';
  const cwd = await project({
    ...npmRepository,
    'playwright.config.ts': config,
    [`${workflows}/playwright.yml`]: 'run: make e2e\n',
    [`${workflows}/old/ci.yml`]: 'run: npx playwright test\n',
  });
  expect(printed(await cli('init --yes', { cwd }))).toContain('playwright-pool.yml');
  const read = (name: string) => readFile(path.join(cwd, workflows, name), 'utf8');
  expect(await read('playwright.yml')).toBe('run: make e2e\n');
  expect(await read('playwright-pool.yml')).toContain('npx playwright-pool test --shard');

  const running = path.join(cwd, workflows, 'ci.yml');
  await writeFile(running, 'run: npx playwright test\n');
  expect(printed(await cli('init --dry-run', { cwd }))).not.toContain('workflow');
  await rm(running);
  await writeFile(path.join(cwd, workflows, 'playwright-pool.yml'), 'run: make all\n');
  expect((await cli('init --yes', { cwd })).stdout).toContain('No workflow: ');
  expect(await read('playwright-pool.yml')).toBe('run: make all\n');
  expect((await readdir(path.join(cwd, workflows))).sort()).toEqual(['old', 'playwright-pool.yml', 'playwright.yml']);
});

test('init says why it writes no workflow: the directory or no lockfile', async ({ cli }) => {
  const cwd = await project({
    '.git/HEAD': '',
    'playwright.config.ts': config,
    'packages/e2e/playwright.config.ts': config,
    'packages/e2e/package.json': '{}',
    'packages/e2e/package-lock.json': '{}',
  });
  const below = path.join(cwd, 'packages/e2e');
  const elsewhere = `GitHub reads only those in ${cwd}. Run the suite of packages/e2e in a workflow there.`;
  const noLockfile =
    'init writes one only for a package with the lockfile of npm, pnpm or yarn here. Run npx playwright test in your workflow.';
  for (const [directory, reason] of [
    [below, elsewhere],
    [cwd, noLockfile],
  ] as const) {
    const shown = printed(await cli('init --dry-run', { cwd: directory }));
    expect(shown).toContain(`No workflow: ${reason}\n`);
    // It makes its other changes.
    expect(shown.match(/^\+\+\+ .*/gm)).toEqual([expect.stringContaining('+++ playwright.config.ts')]);
  }

  await project({ '.github/workflows/ci.yaml': 'run: npx playwright test\n' });
  const changed = printed(await cli('init --yes', { cwd: below }));
  expect(changed).not.toContain('No workflow');
  expect(changed).toContain('Changed 1 file.');
  for (const directory of ['packages/e2e/.github', '.github/workflows/playwright.yml'])
    expect(existsSync(path.join(cwd, directory)), directory).toBe(false);
});

test('init prints the steps left for the user, until all are done', async ({ cli }) => {
  const left = [
    `By hand: add ['playwright-pool/reporter'] to the reporters of playwright.config.ts.`,
    `By hand: add poolReplay: 'retain-on-failure' to the use of playwright.config.ts, and import defineConfig from playwright-pool.`,
    `By hand: change the import of the tests to playwright-pool, or name their directory with --tests: no source imports playwright-pool.`,
  ];
  const undecided = `// reporter: 'playwright-pool/reporter', poolReplay: 'on'\nexport default defineConfig(base, { reporter });\n`;
  const cwd = await project({ 'playwright.config.ts': undecided });
  const none = `${left.join('\n')}\nThere is nothing else to change.\n`;
  expect(printed(await cli('init --yes --no-ci', { cwd }))).toBe(none);

  const reporter = `reporter: process.env.CI ? 'github' : 'list',`;
  await project({
    'playwright.config.ts': config.replace(`reporter: 'html',`, reporter),
    'tests/a.spec.ts': spec,
  });
  for (const option of ['--dry-run', '--yes']) {
    const { stdout: shown } = await cli(`init ${option} --no-ci`, { cwd });
    expect(shown).toContain(left[0]);
    for (const line of left.slice(1)) expect(shown).not.toContain(line);
  }
  expect(await readFile(path.join(cwd, 'playwright.config.ts'), 'utf8')).toContain(reporter);
});

test("init finds tests outside the config's directory by testDir", async ({ cli }) => {
  const cwd = await project({
    'e2e/playwright.config.ts': config.replace('./tests', '../specs (all)'),
    'specs (all)/a.spec.ts': spec,
  });
  const e2e = path.join(cwd, 'e2e');
  const run = async (...args: string[]) => (await cli(['init', '--yes', '--no-ci', ...args], { cwd: e2e })).stdout;
  expect(await run()).not.toContain('By hand');
  expect(await readFile(path.join(cwd, 'specs (all)/a.spec.ts'), 'utf8')).toContain(`from 'playwright-pool'`);

  const changed = path.join(e2e, 'playwright.config.ts');
  const text = await readFile(changed, 'utf8');
  await writeFile(changed, text.replace(`'../specs (all)'`, `join(root, 'specs')`));
  const unknown = 'By hand: name the directory of the tests with --tests: testDir is not a string literal.';
  expect(await run()).toContain(unknown);
  expect(await run('--tests', '../specs (all)')).toContain('is on the pool');
});

test('init refuses a missing config or directory of tests, and says where to begin', async ({ cli }) => {
  const cwd = await project({ 'package.json': '{}' });
  expectFailure(await cli('init', { cwd }), 2, 'npm init playwright@latest');
  expectFailure(await cli('init --config none.ts', { cwd }), 2, 'ENOENT');
  await project({ 'playwright.config.ts': config });
  const message = `${path.join(cwd, 'nope')} cannot be read (ENOENT): name the directory of the tests with --tests`;
  expectFailure(await cli('init --tests nope', { cwd }), 2, message);
});
