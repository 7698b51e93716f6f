import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { existingWorkflow } from './existing-workflow.ts';

/** A GitHub workflow to write, or the reason why there is none. Empty if the repository has one that runs Playwright. */
export type NewWorkflow = { file: string; text: string; reason?: never } | { file?: never; reason?: string };

type PackageManager = {
  cache: string;
  /** A step before Node's, for a package manager that doesn't come with it. */
  first?: string;
  install: string;
  run: string;
};

export const npm: PackageManager = { cache: 'npm', install: 'npm ci', run: 'npx' };

/** Proposes a GitHub workflow for a suite, in a file that doesn't exist yet. `isChosen`: its command names the config. */
export async function newWorkflow(config: string, isChosen: boolean): Promise<NewWorkflow> {
  const here = process.cwd();
  const root = nearest('.git', here) ?? here;
  const directory = join(root, '.github/workflows');
  const existing = await existingWorkflow(root, config);
  if (existing?.isCertain) return {};
  if (existing) return { reason: `${existing.file} seems to run the suite already.` };
  if (root !== here)
    return {
      reason: `GitHub reads only those in ${root}. Run the suite of ${relative(root, here)} in a workflow there.`,
    };
  const manager = nearest('package.json', dirname(config)) === here ? await packageManager() : undefined;
  if (manager === undefined) {
    return {
      reason:
        'init writes one only for a package with the lockfile of npm, pnpm or yarn here. Run npx playwright test in your workflow.',
    };
  }
  const file = ['playwright.yml', 'playwright-pool.yml']
    .map((name) => join(directory, name))
    .find((path) => !existsSync(path));
  if (file === undefined) {
    return {
      reason:
        'playwright.yml and playwright-pool.yml exist and do something else. Run npx playwright test in one of them.',
    };
  }
  const chosen = isChosen ? ` --config ${relative(here, config).replaceAll(sep, '/')}` : '';
  // Configs for several browsers need all of them.
  const text = await readFile(config, 'utf8');
  const needsAll = /firefox|webkit|safari/i.test(text);
  const startsApp = /\bwebServer\b/.test(text);
  return { file, text: workflow(manager, needsAll ? '' : undefined, chosen, startsApp) };
}

/**
 * The package manager of the package in the current directory: the one in its `packageManager` field, else the one with a
 * lockfile there.
 */
async function packageManager(): Promise<PackageManager | undefined> {
  const { packageManager: field = '' } = JSON.parse(await readFile('package.json', 'utf8')) as {
    packageManager?: string;
  };
  const locked = Object.entries({ pnpm: 'pnpm-lock.yaml', yarn: 'yarn.lock', npm: 'package-lock.json' })
    .filter(([, lockfile]) => existsSync(lockfile))
    .map(([name]) => name);
  const name = locked.find((manager) => field.startsWith(`${manager}@`)) ?? (field === '' ? locked[0] : undefined);
  if (name === 'npm') return npm;
  if (name === 'pnpm') {
    const version = field === '' ? '\n        with:\n          version: latest' : '';
    return {
      cache: 'pnpm',
      first: `uses: pnpm/action-setup@v4${version}`,
      install: 'pnpm install --frozen-lockfile',
      run: 'pnpm exec',
    };
  }
  if (name === undefined) return undefined;
  const isClassic = !(await readFile('yarn.lock', 'utf8')).includes('__metadata:');
  return {
    cache: 'yarn',
    // GitHub's machines have yarn 1, which reads neither the field nor the other lockfile.
    ...(field !== '' && { first: 'run: npm install --global corepack && corepack enable' }),
    install: isClassic ? 'yarn install --frozen-lockfile' : 'yarn install --immutable',
    run: 'yarn',
  };
}

/**
 * A GitHub workflow that runs a suite on the pool in two shards, and merges their reports. `startsApp`: the config has
 * a `webServer`.
 */
export function workflow(
  { cache, first, install, run }: PackageManager,
  browsers = ' chromium-headless-shell',
  chosen = '',
  startsApp = true,
): string {
  const setUp = `      - uses: actions/checkout@v5
${first === undefined ? '' : `      - ${first}\n`}      - uses: actions/setup-node@v5
        with:
          node-version: lts/*
          cache: ${cache}
      - run: ${install}`;
  return `name: Playwright
on:
  push:
    branches: [main]
  pull_request:

jobs:
  test:
    runs-on: ubuntu-latest
    timeout-minutes: 60
    strategy:
      fail-fast: false
      matrix:
        shard: [1, 2]
    # With a service on other machines, shards share its browsers, end together and take over the tests of lost shards:
    # env:
    #   PLAYWRIGHT_POOL_BASE_URL: \${{ vars.PLAYWRIGHT_POOL_BASE_URL }}
    #   PLAYWRIGHT_POOL_API_KEY: \${{ secrets.PLAYWRIGHT_POOL_API_KEY }}
    steps:
${setUp}
      - run: ${run} playwright install --with-deps${browsers}
${startsApp ? '' : '      # The config has no webServer. If the tests need your application, start it here.\n'}      - run: ${run} playwright-pool test${chosen} --shard \${{ matrix.shard }}/2 --reporter blob,playwright-pool/reporter
      - uses: actions/upload-artifact@v4
        if: \${{ !cancelled() }}
        with:
          name: blob-report-\${{ matrix.shard }}
          path: blob-report
          retention-days: 1
          overwrite: true

  report:
    needs: test
    if: \${{ !cancelled() }}
    runs-on: ubuntu-latest
    steps:
${setUp}
      - uses: actions/download-artifact@v5
        with:
          path: blob-reports
          pattern: blob-report-*
          merge-multiple: true
      - run: ${run} playwright merge-reports --reporter html,playwright-pool/reporter blob-reports
      - uses: actions/upload-artifact@v4
        with:
          name: playwright-report
          path: playwright-report
`;
}

/** The directory, or the nearest one above it, that has an entry of this name. */
function nearest(name: string, directory: string): string | undefined {
  if (existsSync(join(directory, name))) return directory;
  return dirname(directory) === directory ? undefined : nearest(name, dirname(directory));
}
