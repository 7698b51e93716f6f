import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { descendantsOf } from '../../../src/service/process/children/namespaces.ts';
import { commandRunner } from '../../support/processes/command.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { canSeparate, startSeparateService } from '../../support/processes/separate-service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { callerOf } from '../../support/service/service.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, test } from './served.ts';

test('serve prints its address first, and its port and data directory are in use', async ({ serve, directory }) => {
  const { cli, url, call } = await serve();
  expect(cli.output.split('\n')[0]).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+$/);
  expect((await call('GET', '/browsers')).status).toBe(200);
  expect((await callerOf({ url, apiKey: 'other' })('GET', '/browsers')).status).toBe(401);
  for (const file of ['api-key', 'service.json']) expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
  const { port } = new URL(url);
  for (const [options, message] of [
    [
      ['--port', port, '--data-dir', `${directory}-2`],
      `port ${port} is in use: choose another one with --port, or leave out --port to use a free port`,
    ],
    [
      ['--data-dir', directory],
      `the data directory ${directory} is in use by the service at ${url} (process ${cli.child.pid}): use that service, stop it, or choose another directory`,
    ],
  ] as const) {
    const second = new CliProcess(['serve', ...options]);
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.output.trim()).toBe(`playwright-pool: ${message}`);
  }
});

test('serve reports wrong kinds of files in its data directory, and leaves no browser', async ({
  serve,
  directory,
}) => {
  const { cli, call } = await serve();
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  cli.child.kill();
  await cli.exited;
  for (const [name, make, message] of [
    [
      'replays',
      (file: string) => writeFile(file, ''),
      /^playwright-pool: EEXIST: file already exists, mkdir '.*replays'$/,
    ],
    [
      'service.json',
      (file: string) => mkdir(file),
      /^playwright-pool: EISDIR: illegal operation on a directory, .*service\.json'$/,
    ],
  ] as const) {
    const path = join(directory, name);
    await rm(path, { recursive: true, force: true });
    await make(path);
    await using second = new CliProcess(['serve', '--data-dir', directory]);
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.output.trim()).toMatch(message);
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
    ...(
      [
        ['--clock-start', 'tomorrow'],
        ['--clock-start', '2026-13-45'],
        ['--max-sessions', '0'],
        ['--download-quota', '0'],
        ['--audit-retention-days', '1.5'],
        ['--replay-format', 'gif'],
        ['--port', '65536'],
      ] as const
    ).map(([option, value]) => [`serve --data-dir ${directory} ${option} ${value}`, 2, option] as const),
  ] as const) {
    const ended = await run(args);
    expect(ended.code, args).toBe(code);
    expect(ended.stderr).toContain(message);
    expect(ended.stderr).not.toContain('    at ');
  }
  for (const [name, value] of [
    ['PLAYWRIGHT_POOL_MAX_SESSIONS', 'many'],
    ['PLAYWRIGHT_POOL_LOG_FORMAT', 'xml'],
    ['PLAYWRIGHT_POOL_BLOCK_LOOPBACK', 'maybe'],
  ] as const)
    expect(await run(`serve --data-dir ${directory}`, { [name]: value })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(name),
    });

  const help = await run('serve --help');
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('$ playwright-pool serve --port 8080') });
  const groups = ['Network', 'Browsers', 'Limits', 'Data and records', 'Many machines', 'Operation', 'Options'];
  expect(help.stdout.match(/^[A-Z][\w ]+:$/gm)).toEqual([...groups, 'Examples'].map((group) => `${group}:`));
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  expect((await run('--version')).stdout.trim()).toBe(version);
});

for (const [signal, options] of [
  ['SIGTERM', '--drain-timeout 0'],
  ['SIGINT', ''],
] as const) {
  test(
    `serve ends all browsers, leaves no session and no record, and exits with 0 on ${signal} ${options}`.trim(),
    async ({ serve, directory }) => {
      const { cli, call } = await serve(options);
      await call('POST', '/browser_pools', { size: 1, name: 'ci' });
      await call('POST', '/browser_pools/ci/acquire', {});
      await call('POST', '/browsers', {});
      expect(descendantsOf(cli.child.pid!).length).toBeGreaterThan(1);
      cli.child.kill(signal);
      expect(await cli.exited).toEqual({ code: 0, signal: null });
      await expectNoProcessWith(directory);
      // In root's home, sessions live elsewhere, and a file says where.
      const left = (await readdir(directory)).filter((name) => name !== 'sessions-directory');
      expect(left.toSorted()).toEqual(['api-key', 'deployments', 'extensions', 'profiles', 'replays', 'service.db']);
    },
  );
}

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

  const second = await serve();
  expect(second.apiKey).toBe(first.apiKey);
  expect((await second.call('GET', '/profiles/ann')).status).toBe(200);
  expect((await second.call('POST', '/browser_pools/ci/acquire', {})).status).toBe(200);
});

test("the hosted service's SDK and Playwright use a service that shares no disk with them", async () => {
  test.skip(!canSeparate, 'needs Linux and the right to unshare a mount namespace');
  const hidden = outputPath('hidden');
  await using service = await startSeparateService(hidden);
  const kernel = new Kernel({ baseURL: service.url, apiKey: service.apiKey });
  const { session_id: id, cdp_ws_url } = await kernel.browsers.create();
  await kernel.browsers.fs.writeFile(id, Buffer.from('from afar'), { path: '/home/user/a.txt' });
  expect(await (await kernel.browsers.fs.readFile(id, { path: '/home/user/a.txt' })).text()).toBe('from afar');

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
  const before = await serve('--clock-start 2026-11-23T23:59:00Z --chromium /nowhere/chromium');
  const { status, headers } = await before.call('GET', '/projects');
  expect({ status, sunset: headers.get('sunset') }).toEqual({ status: 200, sunset: 'Tue, 24 Nov 2026 00:00:00 GMT' });
  const { body: created } = await before.call('POST', '/profiles', { name: 'ann' });
  expect(created.created_at).toMatch(/^2026-11-23T23:59:/);
  expect((await before.call('POST', '/profiles', { name: 'bob' })).body.created_at > created.created_at).toBe(true);
  expect(await before.call('POST', '/browsers', {})).toMatchObject({
    status: 503,
    body: { code: 'no_chromium', message: expect.stringContaining('/nowhere/chromium') },
  });
  before.cli.child.kill('SIGTERM');
  await before.cli.exited;
  const after = await serve('--clock-start 2026-11-24');
  expect(await after.call('GET', '/projects')).toMatchObject({ status: 410, body: { code: 'gone' } });
  expect((await after.call('GET', '/org/projects')).status).toBe(200);
});

test("serve's options limit browsers, choose VP8 for recordings and turn audit off", async ({ serve }) => {
  const { call } = await serve('--max-sessions 1 --replay-format vp8 --audit-retention-days 0');
  expect((await call('GET', '/org/limits')).body).toMatchObject({ max_concurrent_sessions: 1 });
  const { status, body: session } = await call('POST', '/browsers', { headless: true });
  expect(status).toBe(200);
  expect((await call('POST', '/browsers', { headless: true })).status).toBe(429);

  const replays = `/browsers/${session.session_id}/replays`;
  const { replay_id: id } = (await call('POST', replays, {})).body;
  await call('POST', `${replays}/${id}/stop`);
  expect((await call('GET', `${replays}/${id}`)).headers.get('content-type')).toBe('video/webm');
  const hour = 60 * 60 * 1000;
  const window = `start=${new Date(Date.now() - hour).toISOString()}&end=${new Date(Date.now() + hour).toISOString()}`;
  expect((await call('GET', `/audit-logs?${window}`)).body).toEqual([]);
});

test('each option of serve has a variable, which the command line overrides', async ({ serve, directory }) => {
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
    PLAYWRIGHT_POOL_CLOCK_START: '2026-01-02',
  };
  const { cli, call } = await serve('--max-sessions 4', env);
  expect((await call('GET', '/org/limits')).body).toMatchObject({ max_concurrent_sessions: 4 });
  // The service generates a key only if the environment has none.
  expect(existsSync(join(directory, 'api-key'))).toBe(false);
  const { body: session } = await call('POST', '/browsers', {});
  expect(session.cdp_ws_url).toContain('wss://pool.example/');
  // It is missing with --block-loopback.
  expect(session.playwright_ws_url).toBeUndefined();
  expect(session.created_at).toMatch(/^2026-01-02/);
  expect(cli.output).toContain('"event":"session_started"');
});
