import { spawnSync } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import installed from '@playwright/test/package.json' with { type: 'json' };
import { root, run, test as base } from '../support/runs/packed-package.ts';
import { envOf } from '../support/runs/pool-run.ts';
import { startControlPlane } from '../support/service/machines.ts';
import { callerOf } from '../support/service/service.ts';

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
  go: { needs: ['go version'], command: ['go', 'test', '-count=1', './...'], passed: 'ok  \texample.com/counter' },
};

type Run = (name: string, example: Example, service?: { url: string; apiKey: string }) => Promise<string>;

const test = base.extend<{ inExample: Run }>({
  inExample: async ({ directory, tarball }, use) => {
    await use(async (name, { packages = [], prepare = [], command }, service) => {
      await cp(join(root, 'examples/any-client', name), directory, { recursive: true });
      const added = [tarball, `@playwright/test@${version}`, ...packages];
      const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--save-dev'];
      await run('npm', ['install', ...options, ...added], { cwd: directory, minutes: 5 });
      for (const [program, ...args] of prepare) await run(program!, args, { cwd: directory, minutes: 5 });
      const env: Record<string, string> = service ? envOf(service) : {};
      return await run('npx', ['playwright-pool', 'run', '--', ...command], { cwd: directory, env, minutes: 5 });
    });
  },
});

test.describe.configure({ timeout: 900_000 });

for (const [name, example] of Object.entries(examples))
  test(`any-client: the example ${name} passes without our package in it @long`, async ({ directory, inExample }) => {
    skipWithoutTools(example);
    expect(await inExample(name, example)).toContain(example.passed);
    const log = await readFile(join(directory, 'data/service.log'), 'utf8');
    const leases = Array.from(log.matchAll(/ (lease_(?:started|ended)) /g), ([, event]) => event);
    expect(leases, 'the lease was given back').toEqual(['lease_started', 'lease_ended']);
  });

for (const name of ['pytest', 'java'])
  test(`any-client: the example ${name} passes on a control plane with two machines @long`, async ({ inExample }) => {
    const example = examples[name]!;
    skipWithoutTools(example);
    const leases: string[] = [];
    const log = (event: string) => void (event.startsWith('lease_') && leases.push(event));
    const apiKey = 'key-of-the-plane';
    await using service = await startControlPlane(2, { apiKey, log });
    await callerOf(service)('POST', '/browser_pools', { name: 'ci', size: 2, headless: true });
    expect(await inExample(name, example, { url: service.url, apiKey })).toContain(example.passed);
    await expect.poll(() => leases).toEqual(['lease_started', 'lease_ended']);
  });

/** Skips the test if this machine lacks a tool of the example, and says which one. */
function skipWithoutTools({ needs = [] }: Example): void {
  const failed = needs.filter((command) => spawnSync(command, { shell: true }).status !== 0);
  test.skip(failed.length > 0, `this machine lacks a tool: ${failed.join(', ')} failed`);
}
