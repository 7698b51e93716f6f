import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import installed from '@playwright/test/package.json' with { type: 'json' };
import { run, test as base } from '../support/runs/packed-package.ts';

const config = `
  import { defineConfig } from 'playwright-pool';
  export default defineConfig({
    testMatch: /\\.spec\\.[a-z]+$/,
    workers: 1,
    reporter: [['line'], ['playwright-pool/reporter']],
    use: { pool: { name: 'installed', size: 1 } },
  });`;

const body = `
  test('a page', async ({ page, remote: { session } }) => {
    await page.setContent('<h1>Leased</h1>');
    await expect(page.getByRole('heading')).toHaveText('Leased');
    expect(session.pool).toBe('installed');
  });`;

/** A package manager: its package, the command that installs, and the beginning of a command that runs a program. */
type Manager = {
  title: string;
  package: string;
  program: string;
  install: string[];
  execute: string[];
  env?: Record<string, string>;
  /** The suite is a workspace below the directory of the lockfile. */
  isWorkspace?: true;
  hasPlugAndPlay?: true;
};

const npm = { package: '', program: 'npm', install: ['install', '--ignore-scripts', '--no-audit'] };
const pnpm = { package: 'pnpm@12.21.0', program: 'pnpm', install: ['install', '--ignore-scripts'] };
const bun = { package: 'bun@1.4.5', program: 'bun', install: ['install', '--ignore-scripts'] };
const yarn = { package: '@yarnpkg/cli-dist@4.18.1', program: 'yarn', install: ['install'] };
const oldYarn = { ...yarn, package: '@yarnpkg/cli-dist@4.0.2' };

const managers: Manager[] = [
  { title: 'workspaces of npm', ...npm, execute: ['exec', '--'], isWorkspace: true },
  { title: 'pnpm', ...pnpm, execute: ['exec'] },
  { title: 'workspaces of pnpm', ...pnpm, execute: ['exec'], isWorkspace: true },
  { title: 'Bun', ...bun, execute: ['x', '--no-install'] },
  { title: 'Yarn with node_modules', ...yarn, execute: [], env: { YARN_NODE_LINKER: 'node-modules' } },
  { title: "Yarn's Plug'n'Play", ...yarn, execute: [], hasPlugAndPlay: true },
  { title: "the Plug'n'Play of Yarn 4.0", ...oldYarn, execute: [], hasPlugAndPlay: true },
];

const test = base.extend<{ manager: Manager; type: string; suite: Suite }>({
  manager: [managers[0]!, { option: true }],
  type: ['module', { option: true }],
  suite: async ({ manager, type, tarball, directory }, use) => {
    const tools = await mkdtemp(join(tmpdir(), 'tools-'));
    const project = manager.isWorkspace ? join(directory, 'packages/suite') : directory;
    await mkdir(join(project, 'data'), { recursive: true });
    if (manager.isWorkspace) {
      const workspaces = '{ "name": "all", "private": true, "workspaces": ["packages/*"] }';
      await writeFile(join(directory, 'package.json'), workspaces);
      await writeFile(join(directory, 'pnpm-workspace.yaml'), 'packages: ["packages/*"]\n');
    }
    await writeProject(project, type, tarball);
    // Yarn takes a directory with this file as a project, even below another one.
    if (manager.program === 'yarn') await writeFile(join(directory, 'yarn.lock'), '');
    if (manager.package !== '')
      await run('npm', ['install', '--no-audit', '--no-fund', manager.package], { cwd: tools });
    const program = manager.package === '' ? manager.program : join(tools, 'node_modules/.bin', manager.program);
    const env = {
      YARN_GLOBAL_FOLDER: join(tools, 'yarn'),
      YARN_ENABLE_TELEMETRY: '0',
      YARN_ENABLE_IMMUTABLE_INSTALLS: '0',
      PLAYWRIGHT_POOL_DATA_DIR: join(project, 'data'),
      ...manager.env,
    };
    await run(program, manager.install, { cwd: directory, env, minutes: 5 });
    await use((variables, ...args) =>
      run(program, [...manager.execute, ...args], { cwd: project, env: { ...env, ...variables }, minutes: 5 }),
    );
    await rm(tools, { recursive: true });
  },
});

/** Runs a program of an installed package in the project. */
type Suite = (variables: Record<string, string>, ...args: string[]) => Promise<string>;

test.describe.configure({ timeout: 900_000 });

for (const manager of managers)
  for (const type of ['module', 'commonjs'])
    test.describe(() => {
      test.use({ manager, type });
      const isRefused = manager.hasPlugAndPlay && type === 'commonjs';
      const title = `a project of type ${type} that is installed by ${manager.title}`;

      if (isRefused)
        test(`doctor says that the package doesn't work in ${title} @long`, async ({ suite }) => {
          const findings = await suite({}, 'playwright-pool', 'doctor').catch(({ message }: Error) => message);
          expect(findings).toContain(
            "FAILURE packages: CommonJS tests can't load playwright-pool under Yarn's Plug'n'Play",
          );
          expect(findings).toContain('nodeLinker: node-modules');
        });
      else
        for (const transport of manager.hasPlugAndPlay ? ['cdp', 'playwright'] : ['cdp'])
          test(`tests run over ${transport} in ${title} @long`, async ({ suite }) => {
            const output = await suite({ PLAYWRIGHT_POOL_TRANSPORT: transport }, 'playwright', 'test');
            expect(output).toContain(type === 'module' ? '1 passed' : '2 passed');
            expect(output).toContain('leases: 1 acquired, 1 released, 0 leaked');
          });
    });

async function writeProject(directory: string, type: string, tarball: string): Promise<void> {
  await copyFile(tarball, join(directory, 'pool.tgz'));
  const devDependencies = {
    '@playwright/test': installed.version,
    '@types/node': '20',
    'playwright-pool': 'file:./pool.tgz',
  };
  const files = {
    'package.json': JSON.stringify({ name: 'suite', version: '1.0.0', private: true, type, devDependencies }),
    'playwright.config.ts': config,
    'a.spec.ts': `import { test, expect } from 'playwright-pool';${body}`,
    ...(type === 'commonjs' && { 'b.spec.js': `const { test, expect } = require('playwright-pool');${body}` }),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
}
