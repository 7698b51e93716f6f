import { once } from 'node:events';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { test } from '../../support/service/shared-service.ts';

const day = 24 * 3600 * 1000;

test('setting the clock back prolongs no idle session', async ({ service: { call }, clock }) => {
  const { body: session } = await call('POST', '/browsers', { timeout_seconds: 60 });
  clock.jump(-day);
  const { body: shown } = await call('GET', `/browsers/${session.session_id}`);
  expect(shown.usage.uptime_ms).toBe(0);
  clock.advance(59_000);
  expect((await call('GET', `/browsers/${session.session_id}`)).status).toBe(200);
  clock.advance(62_000);
  expect((await call('GET', `/browsers/${session.session_id}`)).status).toBe(404);
});

test('setting the clock forward ends only idle sessions', async ({ service: { call }, clock }) => {
  const { body: idle } = await call('POST', '/browsers', { timeout_seconds: 60 });
  const { body: used } = await call('POST', '/browsers', { timeout_seconds: 60 });
  const client = new WebSocket(used.cdp_ws_url);
  await once(client, 'open');
  clock.jump(day);
  // The callback was due in a minute. It runs now and finds that a day has passed.
  clock.advance(60_000);
  for (const { session_id } of [idle, used]) expect((await call('GET', `/browsers/${session_id}`)).status).toBe(200);
  const pinged = once(client, 'ping');
  clock.advance(4000);
  await pinged;
  // The answer to the ping comes over the network, so no clock tells when.
  await expect
    .poll(async () => {
      client.pong();
      return (await call('GET', `/browsers/${used.session_id}`)).status;
    })
    .toBe(200);
  clock.advance(3000);
  expect((await call('GET', `/browsers/${idle.session_id}`)).status).toBe(404);
  expect((await call('GET', `/browsers/${used.session_id}`)).status).toBe(200);
  client.terminate();
});

test('an acquire call waits its normal time when the clock jumps', async ({ service: { call }, clock }) => {
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const first = await call('POST', '/browser_pools/ci/acquire', {});
  let leased = first.body.session_id as string;
  for (const ms of [-day, day]) {
    const timeouts = clock.pending().length;
    let ended = false;
    const waiting = call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 10 }).finally(
      () => (ended = true),
    );
    await expect.poll(() => clock.pending().length).toBe(timeouts + 1);
    clock.jump(ms);
    clock.advance(9000);
    await call('GET', '/browser_pools/ci');
    expect(ended).toBe(false);
    clock.advance(1000);
    expect((await waiting).status).toBe(204);

    const next = call('POST', '/browser_pools/ci/acquire', {});
    await call('POST', '/browser_pools/ci/release', { session_id: leased, reuse: false });
    const { status, body } = await next;
    expect(status).toBe(200);
    leased = body.session_id;
  }
});
