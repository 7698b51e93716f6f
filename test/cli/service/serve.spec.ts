import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, expect, test as base } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { descendantsOf } from '../../../src/service/process/children/namespaces.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { canSeparate, startSeparateService } from '../../support/processes/separate-service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { callerOf, type Call } from '../../support/service/service.ts';

type ServeProcess = { cli: CliProcess; url: string; apiKey: string; call: Call };

const test = base.extend<{
  directory: string;
  serve: (args?: string[], env?: Record<string, string>) => Promise<ServeProcess>;
}>({
  directory: async ({}, use, testInfo) => use(testInfo.outputPath('data')),
  serve: async ({ directory }, use) => {
    const processes: CliProcess[] = [];
    await use(async (args = [], env = {}) => {
      const cli = new CliProcess(['serve', '--data-dir', directory, ...args], {
        env: { PLAYWRIGHT_POOL_API_KEY: '', ...env },
      });
      processes.push(cli);
      const url = (await cli.firstLine()).replace(/^listening on /, '');
      const apiKey = env['PLAYWRIGHT_POOL_API_KEY'] ?? (await readFile(join(directory, 'api-key'), 'utf8')).trim();
      return { cli, url, apiKey, call: callerOf({ url, apiKey }) };
    });
    await Promise.all(processes.map((cli) => cli[Symbol.asyncDispose]()));
    await expectNoProcessWith(directory);
  },
});

test('serve prints its address first, and accepts the API key that it generated', async ({ serve, directory }) => {
  const { cli, url, call } = await serve();
  expect(cli.output.split('\n')[0]).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+$/);
  expect((await call('GET', '/browsers')).status).toBe(200);
  expect((await callerOf({ url, apiKey: 'other' })('GET', '/browsers')).status).toBe(401);
  expect((await stat(join(directory, 'api-key'))).mode & 0o777).toBe(0o600);
  expect((await stat(join(directory, 'service.json'))).mode & 0o777).toBe(0o600);
});

test("serve uses the environment's API key instead of generating one", async ({ serve, directory }) => {
  const { call } = await serve([], { PLAYWRIGHT_POOL_API_KEY: 'my-key' });
  expect((await call('GET', '/browsers')).status).toBe(200);
  expect(existsSync(join(directory, 'api-key'))).toBe(false);
});

test('serve listens on --port, and says what to do if the port is in use', async ({ serve, directory }) => {
  const { url } = await serve();
  const { port } = new URL(url);
  const second = new CliProcess(['serve', '--port', port, '--data-dir', `${directory}-2`]);
  expect(await second.exited).toEqual({ code: 1, signal: null });
  expect(second.output.trim()).toBe(
    `playwright-pool: port ${port} is in use: choose another one with --port, or leave out --port to use a free port`,
  );
});

test('serve refuses a data directory in use, and prints the address of the service that uses it', async ({
  serve,
  directory,
}) => {
  const { url, cli } = await serve();
  const second = new CliProcess(['serve', '--data-dir', directory]);
  expect(await second.exited).toEqual({ code: 1, signal: null });
  expect(second.output.trim()).toBe(
    `playwright-pool: the data directory ${directory} is in use by the service at ${url} (process ${cli.child.pid}): use that service, stop it, or choose another directory`,
  );
});

for (const { name, kind, message } of [
  { name: 'replays', kind: 'file', message: /^playwright-pool: EEXIST: file already exists, mkdir '.*replays'$/ },
  {
    name: 'service.json',
    kind: 'directory',
    message: /^playwright-pool: EISDIR: illegal operation on a directory, .*service\.json'$/,
  },
]) {
  test(`serve reports a ${kind} where its ${name} should be, and leaves no browser of a stored pool`, async ({
    serve,
    directory,
  }) => {
    const { cli, call } = await serve();
    await call('POST', '/browser_pools', { size: 1, name: 'ci' });
    cli.child.kill();
    await cli.exited;
    const path = join(directory, name);
    await rm(path, { recursive: true, force: true });
    await (kind === 'file' ? writeFile(path, '') : mkdir(path));
    await using second = new CliProcess(['serve', '--data-dir', directory]);
    await expect.poll(() => second.child.exitCode, { timeout: 20_000 }).not.toBeNull();
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.output.trim()).toMatch(message);
  });
}

test('serve refuses wrong arguments and points to the help', async ({}) => {
  for (const args of [['serve', '--port', 'x'], ['serve', '--nonsense'], ['nonsense']]) {
    const cli = new CliProcess(args);
    expect((await cli.exited).code).toBe(2);
    expect(cli.output).toMatch(/error: .*/);
    expect(cli.output).not.toContain('    at ');
  }
  const machines = ['--machines', 'http://10.0.0.1:8080'];
  for (const [args, message] of [
    [['--overflow', 'https://other.example', '--overflow-key', 'key'], 'pass --machines too'],
    [[...machines, '--overflow', 'https://other.example'], 'pass --overflow-key'],
    [[...machines, '--overflow', 'other.example', '--overflow-key', 'key'], 'Write for example https://'],
    [[...machines, '--overflow-sessions', '2'], 'pass its URL too'],
  ] as const) {
    const cli = new CliProcess(['serve', ...args]);
    expect((await cli.exited).code).not.toBe(0);
    expect(cli.output).toContain(message);
    expect(cli.output).not.toContain('    at ');
  }
});

test("prints examples for --help, and the package's version for --version", async ({}) => {
  const help = new CliProcess(['serve', '--help']);
  expect((await help.exited).code).toBe(0);
  expect(help.output).toContain('$ playwright-pool serve --port 8080');
  const version = new CliProcess(['--version']);
  await version.exited;
  const { version: expected } = JSON.parse(
    await readFile(new URL('../../../package.json', import.meta.url), 'utf8'),
  ) as {
    version: string;
  };
  expect(version.output.trim()).toBe(expected);
});

for (const [signal, ...args] of [['SIGTERM', '--drain-timeout', '0'], ['SIGINT']] as const) {
  test(`serve ends all browsers, leaves no session and no record, and exits with 0 on ${[signal, ...args].join(' ')}`, async ({
    serve,
    directory,
  }) => {
    const { cli, call } = await serve([...args]);
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
  });
}

test('after kill -9 of serve all browsers end within 10 s, and the next service keeps pools, profiles and key', async ({
  serve,
  directory,
}) => {
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

test('serve explains a missing Chromium only when it needs a browser', async ({ serve }) => {
  const { call } = await serve(['--chromium', '/nowhere/chromium']);
  const answer = await call('POST', '/browsers', {});
  expect(answer).toMatchObject({
    status: 503,
    body: { code: 'no_chromium', message: expect.stringContaining('/nowhere/chromium') },
  });
});

test("the hosted service's SDK and Playwright use a service that shares no disk with them", async ({}, testInfo) => {
  test.skip(!canSeparate, 'needs Linux and the right to unshare a mount namespace');
  const hidden = testInfo.outputPath('hidden');
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

test("serve --clock-start sets the time at which the service's clock starts", async ({ serve }) => {
  const before = await serve(['--clock-start', '2026-11-23T23:59:00Z']);
  const { status, headers } = await before.call('GET', '/projects');
  expect({ status, sunset: headers.get('sunset') }).toEqual({ status: 200, sunset: 'Tue, 24 Nov 2026 00:00:00 GMT' });
  const { body: created } = await before.call('POST', '/profiles', { name: 'ann' });
  expect(created.created_at).toMatch(/^2026-11-23T23:59:/);
  expect((await before.call('POST', '/profiles', { name: 'bob' })).body.created_at > created.created_at).toBe(true);
  before.cli.child.kill('SIGTERM');
  await before.cli.exited;
  const after = await serve(['--clock-start', '2026-11-24']);
  expect(await after.call('GET', '/projects')).toMatchObject({ status: 410, body: { code: 'gone' } });
  expect((await after.call('GET', '/org/projects')).status).toBe(200);
});

test("serve's options limit browsers, choose VP8 for recordings and turn audit off", async ({ serve }) => {
  const { call } = await serve(['--max-sessions', '1', '--replay-format', 'vp8', '--audit-retention-days', '0']);
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

for (const [option, value] of [
  ['--clock-start', 'tomorrow'],
  ['--clock-start', '2026-13-45'],
  ['--max-sessions', '0'],
  ['--download-quota', '0'],
  ['--audit-retention-days', '1.5'],
  ['--replay-format', 'gif'],
  ['--port', '65536'],
] as const) {
  test(`serve refuses ${option} ${value}`, async ({ directory }) => {
    const cli = new CliProcess(['serve', '--data-dir', directory, option, value]);
    expect(await cli.exited).toEqual({ code: 2, signal: null });
    expect(cli.output).toContain(option);
  });
}

test('serve --help shows the options in groups', async ({}) => {
  const help = new CliProcess(['serve', '--help']);
  await help.exited;
  const groups = help.output.match(/^[A-Z][\w ]+:$/gm);
  expect(groups).toEqual([
    'Network:',
    'Browsers:',
    'Limits:',
    'Data and records:',
    'Many machines:',
    'Operation:',
    'Options:',
    'Examples:',
  ]);
});

test('each option of serve has an environment variable, which the command line overrides', async ({ serve }) => {
  const env = {
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
  const { cli, call } = await serve(['--max-sessions', '4'], env);
  expect((await call('GET', '/org/limits')).body).toMatchObject({ max_concurrent_sessions: 4 });
  const { body: session } = await call('POST', '/browsers', {});
  expect(session.cdp_ws_url).toContain('wss://pool.example/');
  // It is missing with --block-loopback.
  expect(session.playwright_ws_url).toBeUndefined();
  expect(session.created_at).toMatch(/^2026-01-02/);
  expect(cli.output).toContain('"event":"session_started"');
});

test('serve reports a wrong value of an environment variable by its name', async ({ directory }) => {
  for (const [name, value] of [
    ['PLAYWRIGHT_POOL_MAX_SESSIONS', 'many'],
    ['PLAYWRIGHT_POOL_LOG_FORMAT', 'xml'],
    ['PLAYWRIGHT_POOL_BLOCK_LOOPBACK', 'maybe'],
  ] as const) {
    const cli = new CliProcess(['serve', '--data-dir', directory], { env: { [name]: value } });
    expect(await cli.exited).toEqual({ code: 2, signal: null });
    expect(cli.output).toContain(name);
  }
});
