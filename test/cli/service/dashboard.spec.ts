import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readServiceRecord } from '../../../src/service/process/start/data-directory.ts';
import { PlaywrightRun } from '../../support/runs/playwright-run.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, test } from '../commands.ts';

test("dashboard prints a link that signs in once and doesn't contain the API key", async ({ cli, service, page }) => {
  const { code, stdout, stderr } = await cli('dashboard --print');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^${service.url}/#sign-in=\\S+\n$`));
  expect(stdout).not.toContain(service.apiKey);
  await page.goto(stdout.trim());
  await expect(page.getByRole('navigation')).toBeVisible();
  expect(page.url()).not.toContain('sign-in');
  expect(JSON.parse((await cli('dashboard --json')).stdout).url).not.toBe(stdout.trim());
});

test("dashboard opens the link in the user's browser", async ({ cli, service }) => {
  test.skip(process.platform !== 'linux', 'xdg-open is of Linux');
  const opener = join(outputPath(), 'xdg-open');
  await writeFile(opener, `#!/bin/sh\necho "$1" > '${outputPath('opened')}'\n`);
  await chmod(opener, 0o755);
  const env = { PATH: `${outputPath()}:${process.env['PATH']}`, BROWSER: 'any' };
  expect(await cli('dashboard', { env })).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await readFile(outputPath('opened'), 'utf8')).toContain(`${service.url}/#sign-in=`);
});

test('dashboard explains a wrong key, a missing dashboard and an unreachable service', async ({ cli, answering }) => {
  const wrong = await cli('dashboard --print', { env: { PLAYWRIGHT_POOL_API_KEY: 'a-wrong-key' } });
  expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('refuses the API key (401)') });
  expect(wrong.stderr).not.toContain('a-wrong-key');
  const other = await answering((_request, response) => response.writeHead(404).end());
  expect((await cli('dashboard', { env: other })).stderr).toContain('has no dashboard (it answered 404)');
  const gone = { PLAYWRIGHT_POOL_BASE_URL: 'http://127.0.0.1:1' };
  expect((await cli('dashboard', { env: gone })).stderr).toContain("doesn't answer (");
});

test('dashboard opens the embedded service of a running test run @long', async ({ temporary, page }) => {
  const env = {
    CI: '',
    TMPDIR: temporary,
    PLAYWRIGHT_POOL_DATA_DIR: outputPath('data'),
    PLAYWRIGHT_POOL_BASE_URL: '',
    PLAYWRIGHT_POOL_API_KEY: '',
  };
  const suite = `
    import { existsSync } from 'node:fs';
    import { expect, test } from 'playwright-pool';
    test('pays by card', async ({ page }) => {
      await page.goto('data:text/html,<title>shop</title>');
      await expect.poll(() => existsSync('seen'), { timeout: 50_000 }).toBe(true);
    });`;
  await using run = new PlaywrightRun(outputPath('project'), {
    files: { 'shop.spec.ts': suite },
    config: 'timeout: 60_000',
    env,
  });
  await expect.poll(() => readServiceRecord(env.PLAYWRIGHT_POOL_DATA_DIR)?.url, { timeout: 30_000 }).toBeTruthy();
  await using command = new CliProcess(['dashboard', '--print'], { env, cwd: run.directory });
  await page.goto(await command.firstLine());
  expect((await command.exited).code).toBe(0);
  await page.getByRole('link', { name: 'Leases' }).first().click();
  const row = page.getByRole('row', { name: 'pays by card' });
  await expect(row).toContainText('shop.spec.ts');
  await expect(row).toContainText('Running');
  await writeFile(join(run.directory, 'seen'), '');
  expect(await run.finished()).toMatchObject({ exitCode: 0, stats: { passed: 1 } });
});

test('dashboard starts a service if none runs, and ends it on Ctrl+C @long', async ({ temporary, page }) => {
  const env = { TMPDIR: temporary, PLAYWRIGHT_POOL_BASE_URL: '', PLAYWRIGHT_POOL_API_KEY: '' };
  const command = ['dashboard', '--print', '--data-dir', outputPath('data')];
  await using first = new CliProcess(command, { env });
  const url = await first.firstLine();
  await page.goto(url);
  await expect(page.getByRole('navigation')).toBeVisible();
  // A second command joins it.
  await using second = new CliProcess(command, { env });
  expect(new URL(await second.firstLine()).origin).toBe(new URL(url).origin);
  expect((await second.exited).code).toBe(0);
  first.child.kill('SIGINT');
  expect((await first.exited).code).toBe(0);
});
