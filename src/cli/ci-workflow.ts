import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';

/** A GitHub workflow that runs a suite on the pool, in two shards, and merges their reports. */
export const workflow = `name: Playwright
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
    # For a service on other machines instead of the one that starts by itself:
    # env:
    #   PLAYWRIGHT_POOL_BASE_URL: \${{ vars.PLAYWRIGHT_POOL_BASE_URL }}
    #   PLAYWRIGHT_POOL_API_KEY: \${{ secrets.PLAYWRIGHT_POOL_API_KEY }}
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-node@v5
        with:
          node-version: lts/*
          cache: npm
      - run: npm ci
      - run: npx playwright install --with-deps chromium-headless-shell
      - run: npx playwright test --shard \${{ matrix.shard }}/2 --reporter blob,playwright-pool/reporter
      - uses: actions/upload-artifact@v4
        if: \${{ !cancelled() }}
        with:
          name: blob-report-\${{ matrix.shard }}
          path: blob-report
          retention-days: 1

  report:
    needs: test
    if: \${{ !cancelled() }}
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-node@v5
        with:
          node-version: lts/*
          cache: npm
      - run: npm ci
      - uses: actions/download-artifact@v5
        with:
          path: blob-reports
          pattern: blob-report-*
          merge-multiple: true
      - run: npx playwright merge-reports --reporter html,playwright-pool/reporter blob-reports
      - uses: actions/upload-artifact@v4
        with:
          name: playwright-report
          path: playwright-report
`;

/** A workflow to be written, or the reason why there is none; neither where one runs Playwright already. */
export type NewWorkflow = { file: string; text: string; reason?: never } | { file?: never; reason?: string };

/** The workflow that a suite lacks. Its file is not there yet. A config that was chosen is named in its command. */
export async function newWorkflow(config: string, isChosen: boolean): Promise<NewWorkflow> {
  const here = process.cwd();
  const root = nearest('.git', here) ?? here;
  const directory = join(root, '.github/workflows');
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name));
  const texts = await Promise.all(files.map(({ name }) => readFile(join(directory, name), 'utf8')));
  if (texts.some((text) => text.includes('playwright test'))) return {};
  if (root !== here) return { reason: `GitHub reads those in ${root} only. Run the suite of ${relative(root, here)} in one there.` };
  if (!existsSync('package-lock.json') || nearest('package.json', dirname(config)) !== here) {
    return { reason: 'init knows those of one npm package with a package-lock.json here. Run npx playwright test in yours.' };
  }
  const file = ['playwright.yml', 'playwright-pool.yml'].map((name) => join(directory, name)).find((path) => !existsSync(path));
  if (file === undefined)
    return { reason: 'playwright.yml and playwright-pool.yml are something else. Run npx playwright test in one of them.' };
  const chosen = isChosen ? ` --config ${relative(here, config).replaceAll(sep, '/')}` : '';
  return { file, text: workflowFor(await readFile(config, 'utf8')).replace(/playwright test\b/, (command) => command + chosen) };
}

/** The directory itself or the nearest one above it in which there is an entry of this name. */
function nearest(name: string, directory: string): string | undefined {
  if (existsSync(join(directory, name))) return directory;
  return dirname(directory) === directory ? undefined : nearest(name, dirname(directory));
}

/** Where a config speaks of other browsers than Chromium, they are installed too. */
function workflowFor(config: string): string {
  return /firefox|webkit|safari/i.test(config) ? workflow.replace(' chromium-headless-shell', '') : workflow;
}
