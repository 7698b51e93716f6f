import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { testTagOf } from '../../../src/contract/lease-tags.ts';
import { startService } from '../../../src/service/service.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { callerOf } from '../../support/service/service.ts';
import { main } from '../../support/service/service-process.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, printed, test } from '../commands.ts';

const hostile = '<b>“pays” \u001B[31m日本 ' + 'x'.repeat(100);
const tags = {
  'playwright-pool.file': 'shop.spec.ts',
  'playwright-pool.test': testTagOf(hostile),
  'playwright-pool.worker': '3',
};

test('top prints counts, pools and tests once if stdout is no terminal', async ({ cli, service, answering }) => {
  const none = 'leased 0  starting 0  waiting 0  free 0  draining 0\n\nThere are no pools.\n\nNo browser is leased.\n';
  expect(printed(await cli('top'))).toBe(none);
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const { body: leased } = await service.call('POST', '/browser_pools/ci/acquire', { tags });
  const withoutDashboard = await answering(async ({ url, headers }, response) => {
    if (url!.startsWith('/dashboard')) return response.writeHead(404).end();
    const answer = await fetch(service.url + url, { headers: { authorization: `Bearer ${service.apiKey}` } });
    expect(headers.authorization).toBe('Bearer key');
    const { 'x-has-more': more } = Object.fromEntries(answer.headers);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...(more && { 'x-has-more': more }) });
    return response.end(await answer.text());
  });
  const fromLists = JSON.parse(printed(await cli('top --json', { env: withoutDashboard })));
  expect(fromLists.counts).toEqual({ leased: 1, starting: 0, waiting: 0, free: 0, draining: 0 });
  expect(fromLists.leases).toMatchObject([{ session_id: leased.session_id, pool: 'ci', worker: '3' }]);

  const waiter = service.call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 30 });
  await expect.poll(async () => (await service.call('GET', '/browser_pools/ci')).body.waiting_count).toBe(1);
  expect(printed(await cli('top --once')).split('\n')).toEqual([
    'leased 1  starting 0  waiting 1  free 0  draining 0',
    '',
    'POOL  SIZE  LEASED  FREE  STARTING  WAITING',
    'ci    1     1       0     0         1',
    '',
    'ci: 1 waiting, 1 leased',
    '',
    'LEASE  POOL  WORKER  TEST',
    expect.stringMatching(/^0:\d\d {3}ci {4}3 {7}shop\.spec\.ts › <b>“pays” \\u001b\[31m日本 x+$/),
    '',
  ]);
  const { leases, ...state } = JSON.parse(printed(await cli('top --json')));
  expect(state.counts).toEqual({ leased: 1, starting: 0, waiting: 1, free: 0, draining: 0 });
  const { session_id } = leased;
  expect(leases).toMatchObject([{ pool: 'ci', worker: '3', age_seconds: expect.any(Number), session_id }]);
  expect(JSON.stringify(leases)).not.toContain('jwt');

  const { body: project } = await service.call('POST', '/org/projects', { name: 'shop' });
  expect(state.pools).toMatchObject([{ name: 'ci' }]);
  const inProject = await cli('top --json', { env: { PLAYWRIGHT_POOL_PROJECT: project.id } });
  expect(JSON.parse(printed(inProject)).pools).toEqual([]);
  expect((await cli('top', { env: { PLAYWRIGHT_POOL_PROJECT: 'none' } })).stderr).toContain('none');
  await service.call('DELETE', `/org/projects/${project.id}`);
  await service.call('POST', '/browser_pools/ci/release', { session_id, reuse: true });
  await waiter;
});

test('top counts free browsers of pools only, and shows the machines of a control plane', async ({ cli }) => {
  await using service = await startControlPlane(1);
  const call = callerOf(service);
  await call('POST', '/browser_pools', { name: 'ci', size: 1 });
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.available_count).toBe(1);
  const { body: single } = await call('POST', '/browsers', {});
  const env = { PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: service.apiKey };
  const { counts, machines, leases } = JSON.parse((await cli('top --json', { env })).stdout);
  expect(counts).toMatchObject({ leased: 1, free: 1 });
  const engines = expect.arrayContaining([expect.stringMatching(/^chromium.* \(.*\), for Playwright \d/)]);
  const slots = expect.any(Number);
  expect(machines).toEqual([{ url: single.machine, state: 'up', engines, leased: 1, free: 1, slots }]);
  expect(leases).toMatchObject([{ session_id: single.session_id, machine: single.machine }]);
  await call('POST', '/browser_pools', { name: 'ci', size: 1, engine: 'webkit' });
  expect((await cli('top', { env })).stdout).toMatch(/^ci \(webkit\) +1 /m);
});

test('top shows changes on a small terminal, and restores the terminal at the end', async ({ service, env }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  using terminal = new Terminal('stty cols 40 rows 12', env);
  await expect.poll(() => terminal.output).toContain('No browser is leased.');
  await service.call('POST', '/browser_pools/ci/acquire', { tags });
  await expect.poll(() => terminal.output).toContain('shop.spec.ts › <b>');
  const { width, height } = terminal.drawn();
  expect(width).toBeLessThanOrEqual(40);
  expect(height).toBeLessThanOrEqual(12);
  terminal.type('q');
  expect(await terminal.exitCode).toBe(0);
  expect(terminal.output.indexOf('\u001B[?1049h')).toBeGreaterThanOrEqual(0);
  expect(terminal.output).toMatch(/\u001B\[\?25h\u001B\[\?1049l\s*$/); // oxlint-disable-line no-control-regex
});

test("top adapts to its terminal's size, and reconnects to a restarted service", async ({ temporary }) => {
  const dataDirectory = outputPath('data');
  const chromium = { executable: '/nowhere' };
  const first = await startService({ dataDirectory, chromium });
  const { url, apiKey } = first;
  const env = { PLAYWRIGHT_POOL_BASE_URL: url, PLAYWRIGHT_POOL_API_KEY: apiKey, TMPDIR: temporary };
  using terminal = new Terminal('stty cols 40 rows 12; tty', env);
  await expect.poll(() => terminal.output).toContain('There are no pools.');
  const [device] = /\/dev\/pts\/\d+/.exec(terminal.output)!;
  await callerOf(first)('POST', '/browser_pools', { name: 'a-pool-with-a-long-name-'.repeat(4), size: 1 });
  await expect.poll(() => terminal.drawn().width).toBe(40);
  execFileSync('stty', ['-F', device, 'cols', '90', 'rows', '30']);
  await expect.poll(() => terminal.drawn().width).toBe(90);

  await first.close();
  await expect.poll(() => terminal.last()).toMatch(/not up to date: the service at[^]*a-pool-with/);
  await using second = await startService({ dataDirectory, chromium, port: Number(new URL(url).port), apiKey });
  await callerOf(second)('POST', '/browser_pools', { name: 'new', size: 1 });
  await expect.poll(() => terminal.last()).toMatch(/^playwright-pool top[^]*new /);
  terminal.type('\u0003');
  expect(await terminal.exitCode).toBe(0);
});

/** `top` in a terminal of its own. */
class Terminal implements Disposable {
  output = '';
  readonly exitCode: Promise<number | null>;
  readonly #process: ChildProcessWithoutNullStreams;

  /** `before` is a command that runs first. */
  constructor(before: string, env: Record<string, string>) {
    test.skip(process.platform !== 'linux', 'needs script of util-linux');
    const command = `${before}; exec '${process.execPath}' '${main}' top`;
    this.#process = spawn('script', ['-qefc', command, '/dev/null'], {
      env: { ...process.env, ...env, TERM: 'xterm' },
    });
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    this.exitCode = once(this.#process, 'exit').then(([code]) => code as number | null);
  }

  /** The text of the last picture. */
  last(): string {
    return stripVTControlCharacters(this.output.slice(this.output.lastIndexOf('\u001B[H')));
  }

  drawn(): { width: number; height: number } {
    const lines = this.last().split(/\r*\n/);
    return { width: Math.max(...lines.map(({ length }) => length)), height: lines.length };
  }

  type(keys: string): void {
    this.#process.stdin.write(keys);
  }

  [Symbol.dispose](): void {
    this.#process.kill();
  }
}
