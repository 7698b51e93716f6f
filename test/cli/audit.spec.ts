import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import type { AuditLog } from '../../src/client/index.ts';
import { test as poolRuns } from '../support/pool-run.ts';
import { test as base } from '../support/service.ts';
import { CliProcess } from '../support/service-process.ts';
import { commandRunner, type Ended } from '../support/command.ts';

const test = base.extend<{ audit: (...args: string[]) => Promise<Ended> }>({
  audit: async ({ service }, use, testInfo) => {
    const env = { PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: service.apiKey };
    await use((...args) => runAudit(args, { cwd: testInfo.outputPath(), env }));
  },
});

async function runAudit(args: string[], options: { cwd: string; env: Record<string, string> }): Promise<Ended> {
  await mkdir(options.cwd, { recursive: true });
  return await commandRunner()(['audit', ...args], options);
}

const paths = ({ stdout }: Ended) => (JSON.parse(stdout) as AuditLog[]).map(({ method, path }) => `${method} ${path}`);

test('audit shows records newest first, filtered, as a table and as JSON', async ({ audit, service: { call } }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await call('GET', '/profiles/nobody', undefined, { 'user-agent': 'agent\u009B31m' });
  await call('DELETE', '/profiles/ann');

  const { code, stdout, stderr } = await audit();
  expect([code, stderr]).toEqual([0, '']);
  const [head, ...lines] = stdout.trimEnd().split('\n').map((line) => line.split(/\s{2,}/)); // prettier-ignore
  expect(head).toEqual(['TIME', 'METHOD', 'PATH', 'STATUS', 'MS', 'USER', 'IP', 'USER AGENT']);
  expect(lines.map(([, method, path, status]) => [method, path, status])).toEqual([
    ['DELETE', '/profiles/ann', '204'],
    ['GET', '/profiles/nobody', '404'],
    ['POST', '/profiles', '201'],
  ]);
  expect(lines[1]!.at(-1)).toBe('agent\\u009b31m');
  expect((await audit('--json', '--search', 'nobody')).stdout).toContain('"agent\\u009b31m"');

  const mine = ['--search', '/profiles'];
  expect(paths(await audit('--json', ...mine, '--method', 'POST'))).toEqual(['POST /profiles']);
  expect(paths(await audit('--json', ...mine, '--exclude-method', 'POST', 'GET'))).toEqual(['DELETE /profiles/ann']);
  // The path of the search itself contains its times, which may have the same digits.
  const found404 = async (...filters: string[]) =>
    paths(await audit('--json', '--search', '404', ...filters)).filter((path) => !path.startsWith('GET /audit-logs?'));
  expect(await found404()).toEqual(['GET /profiles/nobody']);
  expect(await found404('--user-id', 'nobody', '--auth-strategy', 'api_key', '--service', 'api')).toEqual([
    'GET /profiles/nobody',
  ]);
  expect(paths(await audit('--json', ...mine, '--since', '2h', '--until', '1h'))).toEqual([]);
  expect(await audit(...mine, '--until', '2026-01-01')).toMatchObject({
    code: 0,
    stdout: 'No records match.\n',
  });
  expect(paths(await audit(...mine, '--limit', '2', '--json'))).toEqual([
    'DELETE /profiles/ann',
    'GET /profiles/nobody',
  ]);
  expect(await audit(...mine, '--method', 'POST', '--limit', '1')).toMatchObject({ code: 0, stderr: '' });
  const [path] = paths(await audit('--json', '--search', 'start=2025'));
  expect(path).toContain(
    new URLSearchParams({ start: '2025-12-31T00:00:00.000Z', end: '2026-01-01T00:00:00.000Z' }).toString(),
  );
  expect(await audit(...mine, '--limit', '2')).toMatchObject({
    code: 0,
    stderr: 'These are the newest 2 of more records. Filter them, or raise --limit.\n',
  });
});

test('audit fetches further list pages until it has as many records as --limit asks for', async ({
  audit,
  service: { call },
}) => {
  for (let index = 0; index < 105; index += 1) await call('GET', `/profiles/p${index}`);
  expect(paths(await audit('--json', '--search', 'profiles/p', '--limit', '0'))).toEqual(
    Array.from({ length: 105 }, (_, index) => `GET /profiles/p${104 - index}`),
  );
  expect(paths(await audit('--json', '--search', 'profiles/p'))).toHaveLength(100);
});

test('audit refuses wrong times, numbers and report files, and says how to fix them', async ({ audit }, testInfo) => {
  const report = testInfo.outputPath('report.json');
  for (const [args, code, said] of [
    [['--since', '15'], 2, /an age such as 15m/],
    [['--since', '2026-13-01'], 2, /an age such as 15m/],
    [['--limit', 'many'], 2, /must be a number/],
    [['--run', 'x', '--since', '1h'], 2, /cannot be used with/],
    [['--run', 'missing.json'], 1, /missing\.json cannot be read \(ENOENT\)/],
    [['--since', '31d'], 1, /400 bad_request.*30 days/],
    [['--since', '721h'], 1, /400 bad_request.*30 days/],
    [['--since', '43201m'], 1, /400 bad_request.*30 days/],
  ] as const) {
    const ended = await audit(...args);
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    expect(ended.stderr).toMatch(said);
  }
  for (const [text, code, said] of [
    ['no JSON', 1, /does not describe a test run/],
    ['null', 1, /does not describe a test run/],
    ['{"version":1,"leases":null}', 1, /does not describe a test run/],
    ['{"run":{"started_at":"x","ended_at":"y","user_agent":"z"}}', 1, /does not describe a test run/],
    ['{"version":1,"run":null}', 3, /made no calls/],
  ] as const) {
    await writeFile(report, text);
    expect(await audit('--run', report)).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(said) });
  }
});

test('audit --run includes records shortly before and after the run, because clocks differ', async ({
  audit,
  service: { call },
}, testInfo) => {
  await call('GET', '/profiles', undefined, { 'user-agent': 'a run' });
  const recorded = Date.now();
  const report = testInfo.outputPath('report.json');
  for (const [seconds, found] of [
    [-100, 1],
    [100, 1],
    [-140, 0],
    [140, 0],
  ] as const) {
    const time = new Date(recorded + seconds * 1000).toISOString();
    await writeFile(report, JSON.stringify({ run: { started_at: time, ended_at: time, user_agent: 'a run' } }));
    expect(paths(await audit('--run', report, '--json')), `${seconds} s`).toHaveLength(found);
  }
});

poolRuns(
  'the records of a test run are found by its report, and by nothing secret @long',
  async ({ run, dataDirectory }, testInfo) => {
    const files = {
      'a.spec.ts': `
      import { test } from 'playwright-pool';
      for (const title of ['one', 'two']) test(title, async ({ page }) => { await page.setContent(title); });`,
    };
    const config = `workers: 2, fullyParallel: true, use: { pool: { name: 'mine', size: 2 } },`;
    const first = await run({ files, config });
    expect(first.stats).toMatchObject({ passed: 2 });
    await run({ files, config });

    const report = join(testInfo.outputPath('project-1'), 'test-results/browser-leases.json');
    const receipt = JSON.parse(readFileSync(report, 'utf8')).run;
    expect(receipt).toEqual({
      started_at: expect.stringMatching(/^\d{4}-.*Z$/),
      ended_at: expect.stringMatching(/^\d{4}-.*Z$/),
      user_agent: expect.stringMatching(/^playwright-pool\/\S+ run\/[0-9a-f-]{36}$/),
    });
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
