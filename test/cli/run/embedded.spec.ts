import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readServiceRecord } from '../../../src/service/process/start/data-directory.ts';
import { expect, test } from '../../support/runs/pool-run.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { CliProcess, main } from '../../support/service/service-process.ts';

const poolTest = `
  import { test, expect } from 'playwright-pool';
  test('a page', async ({ page, remote }) => {
    await page.setContent('x');
    expect(remote.session.pool).toBeTruthy();
  });`;

/** The beginning of a command line that runs the rest of it on a pool. */
const enter = [process.execPath, main, 'run', '--'];

test('run starts the embedded service for a command, over both protocols, and ends it', async ({ dataDirectory }) => {
  const script = join(outputPath(), 'script.mjs');
  const printed = `
    import { execFileSync } from 'node:child_process';
    import { chromium } from '@playwright/test';
    const pools = () => execFileSync(process.execPath, [${JSON.stringify(main)}, 'pools', 'list', '--json']).toString();
    console.log(JSON.stringify({ pools: JSON.parse(pools()), env: process.env }));
    const { PLAYWRIGHT_POOL_WS_URL, PLAYWRIGHT_POOL_CDP_URL } = process.env;
    for (const browser of [await chromium.connect(PLAYWRIGHT_POOL_WS_URL), await chromium.connectOverCDP(PLAYWRIGHT_POOL_CDP_URL)]) {
      const page = await browser.newPage();
      await page.setContent('<title>it works</title>');
      console.log(await page.title());
      await browser.close();
    }`;
  await using cli = new CliProcess(['run', '--data-dir', dataDirectory, '--', process.execPath, script], {
    cwd: await written(script, printed),
    // The option counts more than the service in the environment.
    env: { PLAYWRIGHT_POOL_BASE_URL: 'http://127.0.0.1:1', PLAYWRIGHT_POOL_API_KEY: 'key' },
  });
  const first = await cli.firstLine();
  const { pools, env } = JSON.parse(first) as { pools: []; env: Record<string, string> };
  expect(pools).toEqual([]);
  expect(env).toMatchObject({ PLAYWRIGHT_POOL_DATA_DIR: dataDirectory });
  expect(Object.keys(env)).not.toContain('PLAYWRIGHT_POOL_BASE_URL');
  expect(env['PW_TEST_CONNECT_WS_ENDPOINT']).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/playwright\?run=\w+$/);
  expect(await cli.exited, cli.output).toEqual({ code: 0, signal: null });
  expect(cli.output).toBe(`${first}\nit works\nit works\n`);
  await expect.poll(() => readServiceRecord(dataDirectory)).toBeUndefined();
});

test('run and url join a service of the data directory, and leave it running', async ({ dataDirectory }) => {
  const env = { PLAYWRIGHT_POOL_DATA_DIR: dataDirectory, PLAYWRIGHT_POOL_BASE_URL: '' };
  {
    await using without = new CliProcess(['url'], { env });
    expect(await without.exited).toEqual({ code: 1, signal: null });
    expect(without.output).toContain('no service runs here. Start one with "playwright-pool serve"');
  }
  await expect.poll(() => readServiceRecord(dataDirectory)).toBeUndefined();
  await using serve = new CliProcess(['serve'], { env });
  const base = (await serve.firstLine()).replace('listening on http', 'ws');
  const token = (await readFile(join(dataDirectory, 'api-key'), 'utf8')).trim();

  await using url = new CliProcess(['url'], { env });
  expect(await url.firstLine()).toBe(`${base}/playwright?token=${token}`);
  const print = 'console.log(process.env.PLAYWRIGHT_POOL_CDP_URL)';
  await using run = new CliProcess(['run', '--', process.execPath, '-e', print], { env });
  expect((await run.firstLine()).replace(/run=\w+&/, '')).toBe(`${base}/cdp?token=${token}`);
  await Promise.all([url.exited, run.exited]);
  expect(readServiceRecord(dataDirectory)?.pid).toBe(serve.child.pid);
});

test("run's variables don't keep fixtures of playwright-pool from their pool @long", async ({ run }) => {
  const { stats, output } = await run({ files: { 'a.spec.ts': poolTest }, enter });
  expect(stats, output).toMatchObject({ passed: 1, failed: 0 });
  expect(output).toContain('leases: 1 acquired, 1 released, 0 leaked');
  expect(output).not.toContain('not used');
});

async function written(file: string, content: string): Promise<string> {
  await writeFile(file, content);
  return outputPath();
}
