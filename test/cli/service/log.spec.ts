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
  const { session_id: session } = leased;
  const told = lines.filter((line) => line.session !== single.session_id);
  expect(told).toEqual(
    [
      { event: 'service_started', url, pid: cli.child.pid },
      { event: 'pool_created', pool: 'ci', size: 1 },
      { event: 'session_started', session, ms: expect.any(Number) },
      { event: 'lease_started', session, pool: 'ci', waited_ms: expect.any(Number) },
      { event: 'lease_ended', session, pool: 'ci' },
      { event: 'session_ended', session },
      { event: 'pool_deleted', pool: 'ci' },
      { event: 'service_draining', timeout_seconds: 600 },
      { event: 'service_ending' },
    ].map((line) => expect.objectContaining(line)),
  );
  const tokens = [leased, single].map(({ cdp_ws_url }) => new URL(cdp_ws_url).searchParams.get('jwt')!);
  for (const secret of [apiKey, 'secret-page', ...tokens]) expect(cli.output).not.toContain(secret);
});

for (const [format, publicUrl, isWarned, title] of [
  ['text', 'http://pool.example', true, 'text, and warns about plain HTTP'],
  ['json', 'https://pool.example', false, 'JSON @long'],
] as const) {
  test(`serve logs failed sessions as ${title}`, async ({ serve }) => {
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
      const failed = `^\\S+Z request_failed method=POST path=/browsers status=503 .*request=${request}$`;
      expect(cli.output).toMatch(new RegExp(failed, 'm'));
    }
  });
}
