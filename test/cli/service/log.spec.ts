import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { processesWith, sendSignal } from '../../support/processes/processes.ts';
import { callerOf } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';

type Line = { time: string; event: string } & Record<string, unknown>;

const apiKey = 'a-key-that-nobody-may-see';

/** The lines of the log. The first line of the output is the address. */
function linesOf({ output }: CliProcess): Line[] {
  const lines = output.split('\n').filter((line) => line !== '' && !line.startsWith('listening on '));
  return lines.map((line) => JSON.parse(line) as Line);
}

test('serve logs sessions, leases, pools and failures as JSON lines, without secrets', async ({}, testInfo) => {
  const directory = testInfo.outputPath('data');
  await using cli = new CliProcess(['serve', '--data-dir', directory, '--log-format', 'json'], {
    env: { PLAYWRIGHT_POOL_API_KEY: apiKey },
  });
  const url = (await cli.firstLine()).replace('listening on ', '');
  const call = callerOf({ url, apiKey });
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', { start_url: 'data:,secret-page' });
  await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id, reuse: true });
  await call('DELETE', '/browser_pools/ci');
  const { body: single } = await call('POST', '/browsers', {});
  sendSignal(processesWith(single.session_id), 'SIGKILL');
  const crashed = () =>
    linesOf(cli).find(({ event, session }) => event === 'session_ended' && session === single.session_id);
  await expect.poll(crashed).toMatchObject({ cause: 'browser_ended', seconds: expect.any(Number) });
  cli.child.kill();
  await cli.exited;

  const lines = linesOf(cli);
  for (const { time } of lines) expect(new Date(time).toISOString()).toBe(time);
  const told = lines.filter(({ session }) => session !== single.session_id);
  expect(told).toEqual([
    expect.objectContaining({ event: 'service_started', url, pid: cli.child.pid }),
    expect.objectContaining({ event: 'pool_created', pool: 'ci', size: 1 }),
    expect.objectContaining({ event: 'session_started', session: leased.session_id, ms: expect.any(Number) }),
    expect.objectContaining({
      event: 'lease_started',
      session: leased.session_id,
      pool: 'ci',
      waited_ms: expect.any(Number),
    }),
    expect.objectContaining({ event: 'lease_ended', session: leased.session_id, pool: 'ci' }),
    expect.objectContaining({ event: 'session_ended', session: leased.session_id }),
    expect.objectContaining({ event: 'pool_deleted', pool: 'ci' }),
    expect.objectContaining({ event: 'service_draining', timeout_seconds: 600 }),
    expect.objectContaining({ event: 'service_ending' }),
  ]);
  const tokens = [leased, single].map(({ cdp_ws_url }) => new URL(cdp_ws_url).searchParams.get('jwt')!);
  for (const secret of [apiKey, 'secret-page', ...tokens]) expect(cli.output).not.toContain(secret);
});

test('serve logs why a session did not start, as JSON and as text', async ({}, testInfo) => {
  for (const format of ['json', 'text']) {
    const args = ['serve', '--data-dir', testInfo.outputPath(format), '--chromium', '/nowhere/chromium'];
    await using cli = new CliProcess(args, {
      env: { PLAYWRIGHT_POOL_API_KEY: apiKey, PLAYWRIGHT_POOL_LOG_FORMAT: format },
    });
    const url = (await cli.firstLine()).replace('listening on ', '');
    const { headers } = await callerOf({ url, apiKey })('POST', '/browsers', {});
    const request = headers.get('x-request-id')!;
    await expect.poll(() => cli.output).toContain(request);
    if (format === 'json') {
      const failures = linesOf(cli).slice(-2);
      expect(failures).toEqual([
        expect.objectContaining({ event: 'session_failed', message: expect.stringContaining('/nowhere/chromium') }),
        expect.objectContaining({
          event: 'request_failed',
          status: 503,
          code: 'no_chromium',
          path: '/browsers',
          request,
        }),
      ]);
    } else {
      expect(cli.output).toMatch(/^\d{4}-\S+Z session_failed project=\S+ message=".*\/nowhere\/chromium.*"$/m);
      expect(cli.output).toMatch(
        new RegExp(`^\\S+Z request_failed method=POST path=/browsers status=503 .*request=${request}$`, 'm'),
      );
    }
  }
});

test('serve warns about plain HTTP beyond loopback, unless its public URL is https', async ({}, testInfo) => {
  for (const [name, publicUrl, isWarned] of [
    ['plain', 'http://pool.example', true],
    ['secure', 'https://pool.example', false],
  ] as const) {
    const directory = testInfo.outputPath(name);
    const args = ['serve', '--host', '0.0.0.0', '--allow-shared-user', '--public-url', publicUrl];
    await using cli = new CliProcess([...args, '--data-dir', directory], { env: { PLAYWRIGHT_POOL_API_KEY: '' } });
    await cli.firstLine();
    await expect.poll(() => cli.output).toContain('service_started');
    expect(cli.output.includes('without TLS')).toBe(isWarned);
    const key = (await readFile(join(directory, 'api-key'), 'utf8')).trim();
    expect(cli.output).not.toContain(key);
  }
});
