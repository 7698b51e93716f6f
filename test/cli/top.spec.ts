import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { testTagOf } from '../../src/contract/lease-tags.ts';
import { startControlPlane } from '../support/machines.ts';
import { callerOf } from '../support/service.ts';
import { expect, test } from './commands.ts';

const main = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const hostile = '<b>“pays” \u001B[31m日本 ' + 'x'.repeat(100);
const tags = {
  'playwright-pool.file': 'shop.spec.ts',
  'playwright-pool.test': testTagOf(hostile),
  'playwright-pool.worker': '3',
};

test('top prints the counts, the pools and the running tests once if there is no terminal', async ({
  cli,
  service,
}) => {
  expect((await cli(['top'])).stdout).toBe(
    'leased 0  starting 0  waiting 0  free 0  draining 0\n\nThere are no pools.\n\nNo browser is leased.\n',
  );
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  await service.call('POST', '/browser_pools/ci/acquire', { tags });
  const waiter = service.call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 30 });
  await expect.poll(async () => (await service.call('GET', '/browser_pools/ci')).body.waiting_count).toBe(1);
  const { stdout } = await cli(['top', '--once']);
  expect(stdout.split('\n')).toEqual([
    'leased 1  starting 0  waiting 1  free 0  draining 0',
    '',
    'POOL  SIZE  LEASED  FREE  STARTING  WAITING',
    'ci    1     1       0     0         1',
    '',
    'ci: 1 waiting, 1 leased',
    '',
    'AGE   POOL  WORKER  TEST',
    expect.stringMatching(/^0:\d\d {2}ci {4}3 {7}shop\.spec\.ts › <b>“pays” \\u001b\[31m日本 x+$/),
    '',
  ]);
  const { leases, ...state } = JSON.parse((await cli(['top', '--json'])).stdout);
  expect(state.counts).toEqual({ leased: 1, starting: 0, waiting: 1, free: 0, draining: 0 });
  expect(leases).toEqual([
    expect.objectContaining({
      pool: 'ci',
      worker: '3',
      age_seconds: expect.any(Number),
      session_id: expect.any(String),
    }),
  ]);
  expect(JSON.stringify(leases)).not.toContain('jwt');
  await service.call('POST', '/browser_pools/ci/release', { session_id: leases[0].session_id, reuse: true });
  await waiter;
});

test('top tells free browsers from single sessions, and shows the machines of a control plane', async ({ cli }) => {
  await using service = await startControlPlane(1);
  const call = callerOf(service);
  await call('POST', '/browser_pools', { name: 'ci', size: 1 });
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.available_count).toBe(1);
  const { body: single } = await call('POST', '/browsers', {});
  const env = { PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: service.apiKey };
  const { counts, machines, leases } = JSON.parse((await cli(['top', '--json'], { env })).stdout);
  expect(counts).toMatchObject({ leased: 1, free: 1 });
  expect(machines).toEqual([{ url: single.machine, leased: 1 }]);
  expect(leases).toMatchObject([{ session_id: single.session_id, machine: single.machine }]);
});

test('top shows changes on a small terminal, and restores it at the end', async ({ service, env }) => {
  test.skip(process.platform !== 'linux', 'needs script of util-linux');
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const command = `stty cols 40 rows 12; exec '${process.execPath}' '${main}' top`;
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], { env: { ...process.env, ...env, TERM: 'xterm' } });
  let output = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exited = once(terminal, 'exit');
  await expect.poll(() => output).toContain('No browser is leased.');
  await service.call('POST', '/browser_pools/ci/acquire', { tags });
  await expect.poll(() => output).toContain('shop.spec.ts › <b>');
  const screen = output.slice(output.lastIndexOf('\u001B[H'));
  const widths = stripVTControlCharacters(screen)
    .split(/\r*\n/)
    .map((line) => line.length);
  expect(Math.max(...widths)).toBeLessThanOrEqual(40);
  expect(widths.length).toBeLessThanOrEqual(12);
  terminal.stdin.write('q');
  expect((await exited)[0]).toBe(0);
  expect(output.indexOf('\u001B[?1049h')).toBeGreaterThanOrEqual(0);
  expect(output).toMatch(/\u001B\[\?25h\u001B\[\?1049l\s*$/); // oxlint-disable-line no-control-regex
});
