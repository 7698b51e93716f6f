import { spawnSync } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import installed from '@playwright/test/package.json' with { type: 'json' };
import { root, run, test as base } from '../support/runs/packed-package.ts';

type Example = {
  /** Commands that succeed on machines with the tools of the example. */
  needs?: string[];
  packages?: string[];
  /** Prepares the directory of the example, beside the packages. */
  prepare?: string[][];
  command: string[];
  passed: string;
};

const version = installed.version;
const minor = version.split('.').slice(0, 2).join('.');

const examples: Record<string, Example> = {
  'playwright-test': { command: ['npx', 'playwright', 'test'], passed: '1 passed' },
  script: { command: ['node', 'counter.mjs'], passed: 'passed' },
  puppeteer: { packages: ['puppeteer-core@25.16.0'], command: ['node', 'counter.mjs'], passed: 'passed' },
  vitest: {
    packages: ['vitest@4.1.12', '@vitest/browser-playwright@4.1.12', `playwright@${version}`],
    command: ['npx', 'vitest', 'run'],
    passed: '1 passed',
  },
  pytest: {
    needs: ['python3 -c "import ensurepip"'],
    prepare: [
      ['python3', '-m', 'venv', 'venv'],
      ['venv/bin/pip', 'install', '--quiet', `playwright==${minor}.*`, 'pytest-playwright'],
    ],
    command: ['venv/bin/pytest'],
    passed: '1 passed',
  },
  java: {
    needs: ['java -version', 'mvn --version'],
    command: ['mvn', '--batch-mode', 'test'],
    passed: 'Tests run: 1, Failures: 0',
  },
};

const test = base.extend<{ inExample: (name: string, example: Example) => Promise<string> }>({
  inExample: async ({ directory, tarball }, use) => {
    await use(async (name, { packages = [], prepare = [], command }) => {
      await cp(join(root, 'examples/any-client', name), directory, { recursive: true });
      const added = [tarball, `@playwright/test@${version}`, ...packages];
      const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--save-dev'];
      await run('npm', ['install', ...options, ...added], { cwd: directory, minutes: 5 });
      for (const [program, ...args] of prepare) await run(program!, args, { cwd: directory, minutes: 5 });
      const output = await run('npx', ['playwright-pool', 'run', '--', ...command], { cwd: directory, minutes: 5 });
      const log = await readFile(join(directory, 'data/service.log'), 'utf8');
      const leases = Array.from(log.matchAll(/ (lease_(?:started|ended)) /g), ([, event]) => event);
      expect(leases, 'the lease was given back').toEqual(['lease_started', 'lease_ended']);
      return output;
    });
  },
});

test.describe.configure({ timeout: 900_000 });

for (const [name, example] of Object.entries(examples))
  test(`any-client: the example ${name} passes without our package in it @long`, async ({ inExample }) => {
    const failed = (example.needs ?? []).filter((command) => spawnSync(command, { shell: true }).status !== 0);
    test.skip(failed.length > 0, `this machine lacks a tool: ${failed.join(', ')} failed`);
    expect(await inExample(name, example)).toContain(example.passed);
  });
