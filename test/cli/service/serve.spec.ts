import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { startService } from '../../../src/service/service.ts';
import { commandRunner } from '../../support/processes/command.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { canSeparate, startSeparateService } from '../../support/processes/separate-service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { callerOf } from '../../support/service/service.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, expectEnded, test } from './served.ts';

/** The error message of a service that can't start. */
async function failedStart(...options: string[]): Promise<string> {
  await using cli = new CliProcess(['serve', ...options]);
  expect(await cli.exited).toEqual({ code: 1, signal: null });
  return cli.output.trim();
}

test('serve prints its address first, and its port and data directory are in use', async ({ serve, directory }) => {
  const { cli, url, call } = await serve();
  expect(cli.output.split('\n')[0]).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+$/);
  expect((await call('GET', '/browsers')).status).toBe(200);
  expect((await callerOf({ url, apiKey: 'other' })('GET', '/browsers')).status).toBe(401);
  for (const file of ['api-key', 'service.json']) expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
  const { port } = new URL(url);
  expect(await failedStart('--port', port, '--data-dir', `${directory}-2`)).toBe(
    `playwright-pool: port ${port} is in use: choose another one with --port, or leave out --port to use a free port`,
  );
  expect(await failedStart('--data-dir', directory)).toBe(
    `playwright-pool: the data directory ${directory} is in use by the service at ${url} (process ${cli.child.pid}): use that service, stop it, or choose another directory`,
  );
});

test('serve reports wrong kinds of files in its data directory, and leaves no browser', async ({ directory }) => {
  {
    await using service = await startService({ dataDirectory: directory, chromium: { executable: '/nowhere' } });
    const { status } = await callerOf(service)('POST', '/browser_pools', { size: 1, name: 'ci' });
    expect(status).toBe(201);
  }
  for (const [name, make, message] of [
    ['replays', (file: string) => writeFile(file, ''), "EEXIST: file already exists, mkdir '.*replays'"],
    ['service.json', (file: string) => mkdir(file), "EISDIR: illegal operation on a directory, .*service\\.json'"],
  ] as const) {
    const path = join(directory, name);
    await rm(path, { recursive: true, force: true });
    await make(path);
    expect(await failedStart('--data-dir', directory)).toMatch(new RegExp(`^playwright-pool: ${message}$`));
    await expectNoProcessWith(directory);
    await rm(path, { recursive: true });
  }
});

test('serve refuses wrong arguments and variables, and points to the help', async ({ directory }) => {
  await mkdir(outputPath(), { recursive: true });
  const runCommand = commandRunner();
  const run = (args: string, env: Record<string, string> = {}) =>
    runCommand(args.split(' '), { cwd: outputPath(), env });
  const machines = '--machines http://10.0.0.1:8080';
  for (const [args, code, message] of [
    ['serve --port x', 2, 'error: '],
    ['serve --nonsense', 2, 'error: '],
    ['nonsense', 2, 'error: '],
    ['serve --overflow https://other.example --overflow-key key', 1, 'pass --machines too'],
    [`serve ${machines} --overflow https://other.example`, 1, 'pass --overflow-key'],
    [`serve ${machines} --overflow other.example --overflow-key key`, 1, 'Write for example https://'],
    [`serve ${machines} --overflow-sessions 2`, 1, 'pass its URL too'],
    ['serve --clock-start tomorrow', 2, '--clock-start'],
    ['serve --clock-start 2026-13-45', 2, '--clock-start'],
    ['serve --max-sessions 0', 2, '--max-sessions'],
    ['serve --download-quota 0', 2, '--download-quota'],
    ['serve --audit-retention-days 1.5', 2, '--audit-retention-days'],
    ['serve --replay-format gif', 2, '--replay-format'],
    ['serve --port 65536', 2, '--port'],
  ] as const) {
    const ended = await run(args, { PLAYWRIGHT_POOL_DATA_DIR: directory });
    expect(ended.code, args).toBe(code);
    expect(ended.stderr).toContain(message);
    expect(ended.stderr).not.toContain('    at ');
  }
  for (const [name, value] of [
    ['PLAYWRIGHT_POOL_MAX_SESSIONS', 'many'],
    ['PLAYWRIGHT_POOL_LOG_FORMAT', 'xml'],
    ['PLAYWRIGHT_POOL_BLOCK_LOOPBACK', 'maybe'],
  ] as const) {
    const stderr = expect.stringContaining(name);
    expect(await run(`serve --data-dir ${directory}`, { [name]: value })).toMatchObject({ code: 2, stderr });
  }

  const help = await run('serve --help');
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('$ playwright-pool serve --port 8080') });
  const groups = ['Network', 'Browsers', 'Limits', 'Data and records', 'Many machines', 'Operation', 'Options'];
  expect(help.stdout.match(/^[A-Z][\w ]+:$/gm)).toEqual([...groups, 'Examples'].map((group) => `${group}:`));
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  for (const command of ['', 'pools list ', 'run ']) {
    expect((await run(`${command}--version`)).stdout.trim()).toBe(version);
    expect((await run(`${command}--help`)).stdout.includes('--version')).toBe(command === '');
  }
});

test('after kill -9 all browsers end within 10 s, and the next service has the data', async ({ serve, directory }) => {
  const first = await serve();
  await first.call('POST', '/browser_pools', { size: 1, name: 'ci' });
  await first.call('POST', '/browser_pools/ci/acquire', {});
  await first.call('POST', '/profiles', { name: 'ann' });
  const { body: session } = await first.call('POST', '/browsers', {});
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  first.cli.child.kill('SIGKILL');
  await first.cli.exited;
  await expectNoProcessWith(directory);
  await browser.close();

  await using second = await startService({ dataDirectory: directory });
  const call = callerOf(second);
  expect(second.apiKey).toBe(first.apiKey);
  expect((await call('GET', '/profiles/ann')).status).toBe(200);
  expect((await call('POST', '/browser_pools/ci/acquire', {})).status).toBe(200);
});

test("the hosted service's SDK and Playwright use a service that shares no disk with them @long", async () => {
  test.skip(!canSeparate, 'needs Linux and the right to unshare a mount namespace');
  const hidden = outputPath('hidden');
  await using service = await startSeparateService(hidden);
  const { browsers } = new Kernel({ baseURL: service.url, apiKey: service.apiKey });
  const { session_id: id, cdp_ws_url } = await browsers.create();
  await browsers.fs.writeFile(id, Buffer.from('from afar'), { path: '/home/user/a.txt' });
  expect(await (await browsers.fs.readFile(id, { path: '/home/user/a.txt' })).text()).toBe('from afar');

  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const page = await (await browser.newContext()).newPage();
  await page.setContent('<input type=file onchange="files[0].text().then((text) => (document.title = text))">');
  const cdp = await page.context().newCDPSession(page);
  const { root } = await cdp.send('DOM.getDocument');
  const { nodeId } = await cdp.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'input' });
  await cdp.send('DOM.setFileInputFiles', { nodeId, files: ['/home/user/a.txt'] });
  await expect(page).toHaveTitle('from afar');

  await mkdir(hidden, { recursive: true });
  await writeFile(join(hidden, 'b.txt'), 'uploaded');
  await page.locator('input').setInputFiles(join(hidden, 'b.txt'));
  await expect(page).toHaveTitle('uploaded');
  await browser.close();
});

test('--clock-start sets the start of the clock, and a missing --chromium fails browsers', async ({ serve }) => {
  const { call } = await serve('--clock-start 2026-11-23T23:59:00Z --chromium /nowhere/chromium');
  const { status, headers } = await call('GET', '/projects');
  expect({ status, sunset: headers.get('sunset') }).toEqual({ status: 200, sunset: 'Tue, 24 Nov 2026 00:00:00 GMT' });
  const { body: created } = await call('POST', '/profiles', { name: 'ann' });
  expect(created.created_at).toMatch(/^2026-11-23T23:59:/);
  expect((await call('POST', '/profiles', { name: 'bob' })).body.created_at > created.created_at).toBe(true);
  const message = expect.stringContaining('/nowhere/chromium');
  const failed = { status: 503, body: { code: 'no_chromium', message } };
  expect(await call('POST', '/browsers', {})).toMatchObject(failed);
});

test('serve reads its options from variables and the command line, which wins', async ({ serve, directory }) => {
  const env = {
    PLAYWRIGHT_POOL_API_KEY: 'my-key',
    PLAYWRIGHT_POOL_PORT: 'tcp://10.0.0.1:8080',
    PLAYWRIGHT_POOL_HOST: '',
    PLAYWRIGHT_POOL_PUBLIC_URL: 'https://pool.example',
    PLAYWRIGHT_POOL_MAX_SESSIONS: '3',
    PLAYWRIGHT_POOL_AUDIT_RETENTION_DAYS: '5',
    PLAYWRIGHT_POOL_BLOCK_LOOPBACK: '1',
    PLAYWRIGHT_POOL_NO_SANDBOX: '0',
    PLAYWRIGHT_POOL_LOG_FORMAT: 'json',
    PLAYWRIGHT_POOL_CLOCK_START: '2026-11-24',
  };
  const { cli, call } = await serve('--max-sessions 1 --replay-format vp8 --audit-retention-days 0', env);
  expect((await call('GET', '/org/limits')).body).toMatchObject({ max_concurrent_sessions: 1 });
  // The service generates a key only if the environment has none.
  expect(existsSync(join(directory, 'api-key'))).toBe(false);
  const { status, body: session } = await call('POST', '/browsers', { headless: true });
  expect(status).toBe(200);
  expect(session.cdp_ws_url).toContain('wss://pool.example/');
  // It is missing with --block-loopback.
  expect(session.playwright_ws_url).toBeUndefined();
  expect(session.created_at).toMatch(/^2026-11-24/);
  expect(cli.output).toContain('"event":"session_started"');
  expect((await call('POST', '/browsers', { headless: true })).status).toBe(429);

  const replays = `/browsers/${session.session_id}/replays`;
  const { replay_id: id } = (await call('POST', replays, {})).body;
  await call('POST', `${replays}/${id}/stop`);
  expect((await call('GET', `${replays}/${id}`)).headers.get('content-type')).toBe('video/webm');
  const hours = 'start=2026-11-23T23:00:00Z&end=2026-11-24T01:00:00Z';
  expect((await call('GET', `/audit-logs?${hours}`)).body).toEqual([]);
  // An operation that is gone on this day.
  expect(await call('GET', '/projects')).toMatchObject({ status: 410, body: { code: 'gone' } });
  expect((await call('GET', '/org/projects')).status).toBe(200);

  // A session is still running.
  await expectEnded(cli, directory, { by: 'SIGINT', hasKey: false });
});
