import { processesWith, sendSignal } from '../../support/processes/processes.ts';
import type { CliProcess } from '../../support/service/service-process.ts';
import { expect, test } from './served.ts';

type Line = { time: string; event: string } & Record<string, unknown>;

const apiKey = 'a-key-that-nobody-may-see';

/** The lines of the log in JSON. */
function linesOf({ output }: CliProcess): Line[] {
  const lines = output.split('\n').filter((line) => line !== '' && !line.startsWith('listening on '));
  return lines.map((line) => JSON.parse(line) as Line);
}

test('serve logs sessions, leases, pools and failures as JSON lines, without secrets', async ({ serve }) => {
  const { cli, url, call } = await serve('--log-format json', { PLAYWRIGHT_POOL_API_KEY: apiKey });
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

for (const [format, publicUrl, isWarned] of [
  ['json', 'https://pool.example', false],
  ['text', 'http://pool.example', true],
] as const) {
  test(`serve logs failed sessions as ${format}${isWarned ? ', and warns about plain HTTP' : ''}`, async ({
    serve,
  }) => {
    const network = `--host 0.0.0.0 --allow-shared-user --public-url ${publicUrl}`;
    const env = { PLAYWRIGHT_POOL_LOG_FORMAT: format };
    const { cli, call, apiKey: generated } = await serve(`${network} --chromium /nowhere/chromium`, env);
    const { headers } = await call('POST', '/browsers', {});
    const request = headers.get('x-request-id')!;
    await expect.poll(() => cli.output).toContain(request);
    expect(cli.output.includes('without TLS')).toBe(isWarned);
    expect(cli.output).not.toContain(generated);
    if (format === 'json') {
      const message = expect.stringContaining('/nowhere/chromium');
      const failed = { event: 'request_failed', status: 503, code: 'no_chromium', path: '/browsers', request };
      expect(linesOf(cli).slice(-2)).toMatchObject([{ event: 'session_failed', message }, failed]);
    } else {
      expect(cli.output).toMatch(/^\d{4}-\S+Z session_failed project=\S+ message=".*\/nowhere\/chromium.*"$/m);
      expect(cli.output).toMatch(
        new RegExp(`^\\S+Z request_failed method=POST path=/browsers status=503 .*request=${request}$`, 'm'),
      );
    }
  });
}
