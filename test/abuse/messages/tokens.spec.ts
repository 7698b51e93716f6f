import { once } from 'node:events';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';
import type { TestService } from '../../support/service/service.ts';
import { test } from '../shared-service.ts';
import { words } from './hostile-values.ts';
import { upgradeStatus } from './raw-http.ts';

const tokenOf = (url: string) => new URL(url).searchParams.get('jwt')!;

const cdp = ({ url }: TestService, query: string) => `${url.replace('http', 'ws')}/browser/cdp${query}`;

/** Altered tokens that look like the token. */
function forgeries(token: string, other: string, apiKey: string): string[] {
  const [id, secret] = token.split('.') as [string, string];
  const [otherId] = other.split('.') as [string];
  const swapped = Buffer.from(secret).toReversed().toString();
  const cut = [`${id}.`, `.${secret}`, `${id}.${secret.slice(0, -1)}`, id];
  const longer = [`${id}.${secret}x`, `${id}.${secret}.`, `${token}\0`, ` ${token}`];
  const mixed = [`${id}.${swapped}`, `${otherId}.${secret}`, token.toUpperCase(), apiKey];
  return ['', ...cut, ...longer, ...mixed, ...words('__proto__.x constructor null * %')];
}

test('only a whole token opens a session, and only its own', async ({ service, client, session: { cdp_ws_url } }) => {
  const own = tokenOf(cdp_ws_url);
  const other = tokenOf((await client.browsers.create()).cdp_ws_url);
  for (const token of forgeries(own, other, service.apiKey)) {
    expect(await upgradeStatus(cdp(service, `?jwt=${encodeURIComponent(token)}`)), token).toBe(401);
    const below = await fetch(`${service.url}/browser/kernel/fs/list_files?path=/&jwt=${encodeURIComponent(token)}`);
    expect(below.status, token).toBe(401);
  }
  for (const query of ['', '?', '?jwt', '?token=x', `?jwt=x&jwt=${own}`, `?JWT=${own}`])
    expect(await upgradeStatus(cdp(service, query)), query).toBe(401);
  expect(await upgradeStatus(cdp_ws_url)).toBe(101);
});

test('a token for one of CDP, live view and replay opens neither of the other two', async ({ service }) => {
  const { url, call } = service;
  const { body: session } = await call('POST', '/browsers', {});
  const live = tokenOf(session.browser_live_view_url);
  const { body: replay } = await call('POST', `/browsers/${session.session_id}/replays`, {});
  const video = tokenOf(replay.replay_view_url);
  const control = tokenOf(session.cdp_ws_url);
  for (const token of [live, video]) expect(await upgradeStatus(cdp(service, `?jwt=${token}`))).toBe(401);
  const liveSocket = `${url.replace('http', 'ws')}/browser/live/socket?jwt=`;
  for (const token of [control, video]) expect(await upgradeStatus(liveSocket + token)).toBe(401);
  expect(await upgradeStatus(liveSocket + live)).toBe(101);
  for (const token of [control, live, video]) {
    expect((await call('GET', '/browsers', undefined, { authorization: `Bearer ${token}` })).status).toBe(401);
    expect(
      (await call('DELETE', `/browsers/${session.session_id}`, undefined, { authorization: `Bearer ${token}` })).status,
    ).toBe(401);
  }
  const pageStatus = async (path: string) => (await fetch(url + path)).status;
  for (const token of [control, video, service.apiKey])
    expect(await pageStatus(`/browser/live?jwt=${token}`)).toBe(404);
  for (const token of [control, live, service.apiKey]) {
    for (const path of ['replays', 'replays/video']) {
      expect(await pageStatus(`/browser/${path}?jwt=${token}&replay_id=${replay.replay_id}`)).toBe(404);
    }
  }
  const { body: other } = await call('POST', `/browsers/${session.session_id}/replays`, {});
  expect(await pageStatus(`/browser/replays?jwt=${video}&replay_id=${other.replay_id}`)).toBe(404);
  expect(await pageStatus(`/browser/replays?jwt=${video}&replay_id=${replay.replay_id}`)).toBe(200);
});

test('a token stops working when its lease or session ends, even if the browser keeps running', async ({ service }) => {
  const { call, url } = service;
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: first } = await call('POST', '/browser_pools/ci/acquire', {});
  const { body: replay } = await call('POST', `/browsers/${first.session_id}/replays`, {});
  const held = new WebSocket(first.cdp_ws_url);
  await once(held, 'open');
  const closed = once(held, 'close');
  await call('POST', '/browser_pools/ci/release', { session_id: first.session_id, reuse: true });
  await closed;
  expect(await upgradeStatus(first.cdp_ws_url)).toBe(401);
  for (const path of [`/browsers/${first.session_id}`, `/browsers/${first.session_id}/fs/list_files?path=/`]) {
    expect((await call('GET', path)).status).toBe(404);
  }

  const { body: second } = await call('POST', '/browser_pools/ci/acquire', {});
  expect(second.session_id).toBe(first.session_id);
  expect(await upgradeStatus(first.cdp_ws_url)).toBe(401);
  expect((await fetch(first.browser_live_view_url)).status).toBe(404);
  expect(await upgradeStatus(second.cdp_ws_url)).toBe(101);
  await call('DELETE', `/browsers/${second.session_id}`);
  for (const address of [first.cdp_ws_url, second.cdp_ws_url]) expect(await upgradeStatus(address)).toBe(401);
  await call('DELETE', `/browsers/${first.session_id}/replays/${replay.replay_id}`);
  expect((await fetch(replay.replay_view_url)).status).toBe(404);
  expect(new URL(second.cdp_ws_url).host).toBe(new URL(url).host);
});
