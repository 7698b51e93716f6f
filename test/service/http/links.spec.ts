import { once } from 'node:events';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { test as base } from '../../support/service/organization.ts';

const dayMs = 24 * 3600 * 1000;

const test = base.extend<{
  /** The links that a new key gets to one session and its replay. */
  links: (name?: string) => Promise<{ keyId: string; live: string; replay: string; video: string }>;
}>({
  links: async ({ client, callWith, service }, use) => {
    const { body: session } = await service.call('POST', '/browsers', { headless: true, timeout_seconds: 259_200 });
    const replays = `/browsers/${session.session_id}/replays`;
    const { body: replay } = await service.call('POST', replays, {});
    await use(async (name = 'viewer') => {
      const { id: keyId, key } = await client.apiKeys.create({ name });
      const { body: seen } = await callWith(key)('GET', `/browsers/${session.session_id}`);
      const { body: list } = await callWith(key)('GET', replays);
      const url = list[0].replay_view_url as string;
      return { keyId, live: seen.browser_live_view_url, replay: url, video: url.replace('replays?', 'replays/video?') };
    });
    // The clock stands still, so a recording has to be stopped before the service ends.
    await service.call('DELETE', `${replays}/${replay.replay_id}`);
    await service.call('DELETE', `/browsers/${session.session_id}`);
  },
});
const statusOf = async (url: string) => (await fetch(url)).status;
const socketOf = (live: string) => live.replace('http', 'ws').replace('/live?', '/live/socket?');

/** The status of the upgrade, or the open socket. */
async function upgraded(url: string): Promise<WebSocket | number> {
  const socket = new WebSocket(url);
  socket.on('error', () => {});
  const refused = once(socket, 'unexpected-response').then(([, { statusCode }]) => statusCode as number);
  return Promise.race([once(socket, 'open').then(() => socket), refused]);
}

test('links to replays and live views end with the API key that created them', async ({ client, links, clock }) => {
  const [mine, other] = [await links('mine'), await links('other')];
  for (const { live, replay, video } of [mine, other])
    expect(await Promise.all([live, replay, video].map(statusOf))).toEqual([200, 200, 202]);
  const socket = (await upgraded(socketOf(mine.live))) as WebSocket;
  await client.apiKeys.delete(mine.keyId);
  expect(await Promise.all([mine.live, mine.replay, mine.video].map(statusOf))).toEqual([404, 404, 404]);
  expect(await upgraded(socketOf(mine.live))).toBe(401);
  // An open live view gives control of the browser: it ends, too.
  const closed = once(socket, 'close');
  clock.advance(4000);
  const [code, reason] = (await closed) as [number, Buffer];
  expect([code, reason.toString()]).toEqual([1008, 'the link has expired, or its API key was revoked']);
  expect(await Promise.all([other.live, other.replay, other.video].map(statusOf))).toEqual([200, 200, 202]);
});

test('links to live views expire after a day, and those to replays after seven @long', async ({ links, clock }) => {
  const { live, replay } = await links();
  clock.advance(dayMs - 1);
  expect(await Promise.all([live, replay].map(statusOf))).toEqual([200, 200]);
  clock.advance(3600_001);
  expect(await Promise.all([live, replay].map(statusOf))).toEqual([404, 200]);
  expect(await upgraded(socketOf(live))).toBe(401);
  const again = await links('again');
  expect(await statusOf(again.live)).toBe(200);
  clock.advance(6 * dayMs);
  expect(await statusOf(replay)).toBe(404);
});

test('a link whose expiry, key or id was changed opens nothing @long', async ({ links }) => {
  const [mine, other] = [await links('mine'), await links('other')];
  for (const name of ['live', 'replay', 'video'] as const) {
    const url = new URL(mine[name]);
    const [id, keyId, expiry, signature] = url.searchParams.get('jwt')!.split('.') as [string, string, string, string];
    const forged = [
      [id, other.keyId, expiry, signature],
      [id, keyId, (Number.parseInt(expiry, 36) + dayMs).toString(36), signature],
      [id, keyId, 'zzzzzzzzzzzz', signature],
      [id, keyId, '', signature],
      [id, keyId, expiry],
      [id, keyId, expiry, ''],
      [id, keyId, expiry, signature, signature],
      [keyId, id, expiry, signature],
    ];
    for (const parts of forged) {
      url.searchParams.set('jwt', parts.join('.'));
      expect(await statusOf(url.href), parts.join('.')).toBe(404);
    }
  }
});
