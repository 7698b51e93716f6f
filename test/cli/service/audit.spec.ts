import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditLog } from '../../../src/client/index.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { test as poolRuns } from '../../support/runs/pool-run.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { commandRunner, type Ended } from '../../support/processes/command.ts';
import { expect, expectFailure, testWithOwnService as base } from '../commands.ts';

const test = base.extend<{ audit: (options?: string) => Promise<Ended> }>({
  // Not by `cli`: JSON contains the user agent as it is.
  audit: async ({ env }, use) => {
    const runCommand = commandRunner();
    await use((options = '') => runCommand(`audit ${options}`.trim().split(' '), { cwd: outputPath(), env }));
  },
});

const paths = ({ stdout }: Ended) => (JSON.parse(stdout) as AuditLog[]).map(({ method, path }) => `${method} ${path}`);

test('audit shows records newest first, filtered, as a table and as JSON', async ({ audit, service: { call } }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await call('GET', '/profiles/nobody', undefined, { 'user-agent': 'agent\u009B31m' });
  await call('DELETE', '/profiles/ann');
  const [created, missed, deleted] = ['POST /profiles', 'GET /profiles/nobody', 'DELETE /profiles/ann'];

  const { code, stdout, stderr } = await audit();
  expect([code, stderr]).toEqual([0, '']);
  const [head, ...lines] = stdout.trimEnd().split('\n').map((line) => line.split(/\s{2,}/)); // prettier-ignore
  expect(head).toEqual(['TIME', 'METHOD', 'PATH', 'STATUS', 'MS', 'USER', 'IP', 'USER AGENT']);
  const rows = lines.map(([, method, path, status]) => `${method} ${path} ${status}`);
  expect(rows).toEqual([`${deleted} 204`, `${missed} 404`, `${created} 201`]);
  expect(lines[1]!.at(-1)).toBe('agent\\u009b31m');
  expect((await audit('--json --search nobody')).stdout).toContain('"agent\\u009b31m"');

  for (const [filters, found] of [
    ['--method POST', [created]],
    ['--exclude-method POST GET', [deleted]],
    ['--since 2h --until 1h', []],
    ['--limit 2', [deleted, missed]],
  ] as const)
    expect(paths(await audit(`--json --search /profiles ${filters}`)), filters).toEqual(found);
  for (const filters of ['--search 404', '--search 404 --user-id nobody --auth-strategy api_key --service api']) {
    // The path of the search itself contains its times, which may have the same digits.
    const others = paths(await audit(`--json ${filters}`)).filter((path) => !path.startsWith('GET /audit-logs?'));
    expect(others).toEqual([missed]);
  }
  for (const [filters, expected] of [
    ['--until 2026-01-01', { stdout: 'No records match.\n' }],
    ['--method POST --limit 1', { stderr: '' }],
    ['--limit 2', { stderr: 'These are the newest 2 of more records. Filter them, or raise --limit.\n' }],
  ] as const)
    expect(await audit(`--search /profiles ${filters}`), filters).toMatchObject({ code: 0, ...expected });
  const day = new URLSearchParams({ start: '2025-12-31T00:00:00.000Z', end: '2026-01-01T00:00:00.000Z' });
  expect(paths(await audit('--json --search start=2025'))[0]).toContain(day.toString());
});

test('audit fetches list pages until it has as many records as --limit', async ({ audit, service: { call } }) => {
  for (let index = 0; index < 105; index += 1) await call('GET', `/profiles/p${index}`);
  expect(paths(await audit('--json --search profiles/p --limit 0'))).toEqual(
    Array.from({ length: 105 }, (_, index) => `GET /profiles/p${104 - index}`),
  );
  expect(paths(await audit('--json --search profiles/p'))).toHaveLength(100);
});

test('audit refuses wrong times, numbers and report files, and says how to fix them', async ({ audit }) => {
  const report = outputPath('report.json');
  for (const [options, code, said] of [
    ['--since 15', 2, 'an age such as 15m'],
    ['--since 2026-13-01', 2, 'an age such as 15m'],
    ['--limit many', 2, 'must be a number'],
    ['--run x --since 1h', 2, 'cannot be used with'],
    ['--run missing.json', 1, 'missing.json cannot be read (ENOENT)'],
    ['--since 31d', 1, /400 bad_request.*30 days/],
    ['--since 721h', 1, /400 bad_request.*30 days/],
    ['--since 43201m', 1, /400 bad_request.*30 days/],
  ] as const)
    expectFailure(await audit(options), code, said);
  const wrong = '{"run":{"started_at":"x","ended_at":"y","user_agent":"z"}}';
  for (const text of ['no JSON', 'null', '{"version":1,"leases":null}', wrong]) {
    await writeFile(report, text);
    expectFailure(await audit(`--run ${report}`), 1, 'does not describe a test run');
  }
  await writeFile(report, '{"version":1,"run":null}');
  expectFailure(await audit(`--run ${report}`), 3, 'made no calls');
});

test('audit --run includes records shortly before and after the run', async ({ audit, service: { call } }) => {
  await call('GET', '/profiles', undefined, { 'user-agent': 'a run' });
  const recorded = Date.now();
  const report = outputPath('report.json');
  for (const seconds of [-140, -100, 100, 140]) {
    const time = new Date(recorded + seconds * 1000).toISOString();
    await writeFile(report, JSON.stringify({ run: { started_at: time, ended_at: time, user_agent: 'a run' } }));
    const isNear = Math.abs(seconds) === 100;
    expect(paths(await audit(`--run ${report} --json`)), `${seconds} s`).toHaveLength(isNear ? 1 : 0);
  }
});

poolRuns(
  'the records of a test run are found by its report, and by nothing secret @long',
  async ({ run, dataDirectory }) => {
    const spec = `
      import { test } from 'playwright-pool';
      for (const title of ['one', 'two']) test(title, async ({ page }) => { await page.setContent(title); });`;
    const files = { 'a.spec.ts': spec };
    const config = `workers: 2, fullyParallel: true, use: { pool: { name: 'mine', size: 2 } },`;
    const first = await run({ files, config });
    expect(first.stats).toMatchObject({ passed: 2 });
    await run({ files, config });

    const report = join(outputPath('project-1'), 'test-results/browser-leases.json');
    const receipt = JSON.parse(readFileSync(report, 'utf8')).run;
    const time = expect.stringMatching(/^\d{4}-.*Z$/);
    const user_agent = expect.stringMatching(/^playwright-pool\/\S+ run\/[0-9a-f-]{36}$/);
    expect(receipt).toEqual({ started_at: time, ended_at: time, user_agent });
    // In an own process, because the embedded service ends with it.
    await using cli = new CliProcess(['audit', '--run', report, '--json', '--limit', '0'], {
      env: { PLAYWRIGHT_POOL_DATA_DIR: dataDirectory },
    });
    expect(await cli.exited).toMatchObject({ code: 0 });
    const records = JSON.parse(cli.output) as AuditLog[];
    expect(new Set(records.map(({ user_agent }) => user_agent))).toEqual(new Set([receipt.user_agent]));
    const count = (route: string) => records.filter((record) => record.route === route && record.status < 300).length;
    const acquired = count('/browser_pools/{id_or_name}/acquire');
    expect(acquired).toBeGreaterThan(0);
    expect(acquired).toBeLessThanOrEqual(2);
    expect(count('/browser_pools/{id_or_name}/release')).toBe(acquired);
  },
);
