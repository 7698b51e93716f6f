import { execFile } from 'node:child_process';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npm, workflow } from '../../src/cli/ci-workflow.ts';
import { cleanEnvironment } from '../support/runs/playwright-run.ts';
import { expectNoProcessWith } from '../support/processes/processes.ts';
import { canBeFar, startFarService } from '../support/processes/separate-service.ts';
import { CliProcess } from '../support/service/service-process.ts';
import { expect, test as base } from '../support/worker.ts';

const examples = fileURLToPath(new URL('../../examples', import.meta.url));
const playwright = createRequire(import.meta.url).resolve('@playwright/test/cli');

type Ended = { code: number; output: string };
type Fixtures = {
  env: Record<string, string>;
  /** Runs Playwright in a copy of an example like a reader would. The copy is in the test's directory. */
  run: (example: string, args: string[], env?: Record<string, string>) => Promise<Ended>;
};

const test = base.extend<Fixtures>({
  env: async ({}, use, testInfo) => {
    const data = testInfo.outputPath('data');
    await use({
      CI: '1',
      PLAYWRIGHT_POOL_DATA_DIR: data,
      PLAYWRIGHT_HTML_OUTPUT_DIR: testInfo.outputPath('report'),
      PLAYWRIGHT_BLOB_OUTPUT_DIR: testInfo.outputPath('blobs'),
    });
    await expectNoProcessWith(data);
  },

  run: async ({ env }, use, testInfo) => {
    await use(async (example, args, more) => {
      const directory = testInfo.outputPath(example);
      await cp(join(examples, example), directory, { recursive: true });
      const options = { cwd: directory, env: { ...cleanEnvironment(), ...env, ...more }, timeout: 120_000 };
      return await new Promise((resolve) => {
        execFile(process.execPath, [playwright, ...args], options, (error, stdout, stderr) => {
          resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr });
        });
      });
    });
  },
});

test.describe.configure({ timeout: 120_000 });

test("files: the example for files on the browser's machine passes @long", async ({ run }) => {
  expect(await run('files', ['test'])).toEqual(passed(2));
});

test('existing-suite: fixtures, page objects, a device and a saved login work unchanged @long', async ({ run }) => {
  const ended = await run('existing-suite', ['test', '--reporter', 'list,playwright-pool/reporter']);
  expect(ended).toEqual(passed(3, 'leases: 3 acquired, 3 released'));
});

test('existing-suite: a single line imports the package', async ({}) => {
  const suite = join(examples, 'existing-suite');
  const sources = (await readdir(suite, { recursive: true })).filter((name) => /\.m?[jt]s$/.test(name));
  const texts = await Promise.all(sources.map((name) => readFile(join(suite, name), 'utf8')));
  const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line.includes('playwright-pool'));
  expect(lines).toEqual([`import { test as base, expect } from 'playwright-pool'; // was: '@playwright/test'`]);
});

test("far: browsers that can't see this machine's localhost test an app there", async ({ run }, testInfo) => {
  test.skip(!canBeFar, 'needs a network namespace');
  await using service = await startFarService(testInfo.outputPath('hidden'));
  const env = { PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: service.apiKey };
  // One worker, which starts faster than two.
  expect(await run('far', ['test', '--workers', '1'], env)).toEqual(passed(2));
});

// Not signed-in: its site must be reachable for the service, which logs in there.
for (const [example, tests] of [
  ['existing-suite', 3],
  ['files', 2],
  ['hosted', 2],
  ['replays-in-ci', 2],
  ['todo', 22],
] as const) {
  test(`${example}: passes in browsers that can't see this machine's localhost @long`, async ({ run }, testInfo) => {
    test.skip(!canBeFar, 'needs a network namespace');
    await using service = await startFarService(testInfo.outputPath('hidden'));
    const config = testInfo.outputPath('far.config.ts');
    const source = `
      import base from './${example}/playwright.config.ts';
      const { testDir = '.', webServer, use } = base;
      const far = { name: 'far', size: 2, exposeNetwork: '<loopback>' };
      export default {
        ...base,
        testDir: './${example}/' + testDir,
        ...(webServer && { webServer: { cwd: './${example}', ...webServer } }),
        use: { ...use, pool: { ...far, ...use?.pool } },
      };`;
    await writeFile(config, source);
    const env = { PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: service.apiKey };
    if (example === 'hosted') {
      await using pools = new CliProcess(['pools', 'create', 'ci', '--size', '2'], { env });
      expect(await pools.exited).toMatchObject({ code: 0 });
    }
    const ended = await run(example, ['test', '--config', config, '--reporter', 'list,playwright-pool/reporter'], env);
    expect(ended).toEqual(passed(tests));
  });
}

test('hosted: the example passes on a service given by URL and API key @long', async ({ run, env }, testInfo) => {
  const key = { ...env, PLAYWRIGHT_POOL_API_KEY: 'secret-of-the-example' };
  await using service = new CliProcess(['serve', '--data-dir', testInfo.outputPath('data-elsewhere')], { env: key });
  const url = (await service.firstLine()).replace('listening on ', '');
  const hosted = { ...key, PLAYWRIGHT_POOL_BASE_URL: url };
  await using pools = new CliProcess(['pools', 'create', 'ci', '--size', '2'], { env: hosted });
  expect(await pools.exited).toMatchObject({ code: 0 });

  expect(await run('hosted', ['test'], hosted)).toEqual(passed(2, 'leases: 2 acquired, 2 released'));
  // The run started no embedded service.
  expect(await readdir(testInfo.outputPath()).then((names) => names.includes('data'))).toBe(false);
});

test('replays-in-ci: the merged report has the replays of both shards @long', async ({ run }, testInfo) => {
  const reporters = ['--reporter', 'blob,playwright-pool/reporter'];
  const first = await run('replays-in-ci', ['test', '--shard', '1/2', ...reporters], { BROKEN: '1' });
  const second = await run('replays-in-ci', ['test', '--shard', '2/2', ...reporters], { BROKEN: '1' });
  expect(first.code + second.code, first.output + second.output).toBe(1);

  const blobs = testInfo.outputPath('blobs');
  const merge = ['merge-reports', '--reporter', 'html,playwright-pool/reporter', blobs];
  expect(await run('replays-in-ci', merge)).toMatchObject({ code: 0 });
  const kinds = (await readdir(testInfo.outputPath('report/data'))).map((name) => name.split('.').pop());
  expect(kinds).toContain('html');
  expect(kinds.some((kind) => kind === 'mp4' || kind === 'webm')).toBe(true);
});

test('replays-in-ci: the workflow equals the one that init writes, and the suite passes @long', async ({ run }) => {
  expect(await readFile(join(examples, 'replays-in-ci/.github/workflows/playwright.yml'), 'utf8')).toBe(workflow(npm));
  expect(await run('replays-in-ci', ['test'])).toEqual(passed(2));
});

test('shards: the service divides the tests between the shards of a run @long', async ({ run, env }, testInfo) => {
  const key = { ...env, PLAYWRIGHT_POOL_API_KEY: 'secret-of-the-example' };
  await using service = new CliProcess(['serve', '--data-dir', testInfo.outputPath('data-elsewhere')], { env: key });
  const url = (await service.firstLine()).replace('listening on ', '');
  const shard = { ...key, PLAYWRIGHT_POOL_BASE_URL: url, PLAYWRIGHT_POOL_NAME: 'ci', PLAYWRIGHT_POOL_RUN: 'try-1' };
  await using pools = new CliProcess(['pools', 'create', 'ci', '--size', '2'], { env: shard });
  expect(await pools.exited).toMatchObject({ code: 0 });
  for (const index of [1, 2]) {
    const ended = await run('shards', ['test', '--shard', `${index}/2`], shard);
    expect(ended).toEqual(passed(2, `shard ${index}/2 of try-1: 2 of 4 tests[^]*`));
  }
});

/** A run in which so many tests passed and no lease leaked. */
function passed(tests: number, leases = '') {
  return { code: 0, output: expect.stringMatching(new RegExp(`${tests} passed[^]*${leases}, 0 leaked`)) };
}
