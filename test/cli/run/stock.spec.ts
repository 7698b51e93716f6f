import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startService } from '../../../src/service/service.ts';
import { envOf, expect, test } from '../../support/runs/pool-run.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { callerOf } from '../../support/service/service.ts';
import { CliProcess, main } from '../../support/service/service-process.ts';

const suite = `
  import { expect, test } from '@playwright/test';
  for (const word of ['one', 'two', 'three', 'four'])
    test(word, async ({ page }) => {
      await page.setContent(\`<button onclick="this.textContent = '\${word}'">go</button>\`);
      await page.getByRole('button').click();
      await expect(page.getByRole('button')).toHaveText(word);
    });`;

test('a suite of Playwright alone runs on a pool by run, and leaves no lease', async ({ run }) => {
  await using service = await startService();
  const call = callerOf(service);
  await call('POST', '/browser_pools', { name: 'ci', size: 2 });
  const { exitCode, stats, output } = await run({
    files: { 'a.spec.ts': suite },
    config: `reporter: [['line'], ['json']], use: { trace: 'on' },`,
    enter: [process.execPath, main, 'run', '--pool', 'ci', '--'],
    env: envOf(service),
  });
  expect({ exitCode, stats }, output).toEqual({ exitCode: 0, stats: { passed: 4, failed: 0, flaky: 0, skipped: 0 } });
  expect(output).not.toContain(service.apiKey);
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.acquired_count).toBe(0);
  const { body } = await call('GET', '/browsers?status=all');
  // Nothing launched a browser beside the pool.
  for (const { pool } of body as { pool?: { name: string } }[]) expect(pool?.name).toBe('ci');
});

test('scripts connect to the embedded service by the variables of run, over both protocols', async ({
  dataDirectory,
}) => {
  await mkdir(outputPath(), { recursive: true });
  const script = join(outputPath(), 'script.mjs');
  await writeFile(
    script,
    `import { chromium } from '@playwright/test';
     const { PLAYWRIGHT_POOL_WS_URL, PLAYWRIGHT_POOL_CDP_URL } = process.env;
     for (const browser of [await chromium.connect(PLAYWRIGHT_POOL_WS_URL), await chromium.connectOverCDP(PLAYWRIGHT_POOL_CDP_URL)]) {
       const page = await browser.newPage();
       await page.setContent('<title>it works</title>');
       console.log(await page.title());
       await browser.close();
     }`,
  );
  await using cli = new CliProcess(['run', '--data-dir', dataDirectory, '--', process.execPath, script], {
    cwd: outputPath(),
    env: { PLAYWRIGHT_POOL_BASE_URL: '' },
  });
  expect(await cli.exited, cli.output).toEqual({ code: 0, signal: null });
  expect(cli.output).toBe('it works\nit works\n');
});
