import { once } from 'node:events';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';
import type { Service } from '../../../src/service/service.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { callerOf } from '../../support/service/service.ts';
import { test } from '../shared-service.ts';

test('a read-only link to a live view ends and controls no session', async ({ service }) => {
  await attack(service);
});

test("a read-only link to a live view of a control plane ends and controls no machine's session", async () => {
  await using service = await startControlPlane(1);
  await attack(service);
});

async function attack(service: Service): Promise<void> {
  const call = callerOf(service);
  const { body: session } = await call('POST', '/browsers', { timeout_seconds: 600 });
  const given = session.read_only_live_view_url as string;
  const full = session.browser_live_view_url as string;
  expect(await (await fetch(given)).text()).toContain('Read only');
  expect(await (await fetch(`${given}&readOnly=false`)).text()).toContain('Read only');

  const token = new URL(given).searchParams.get('jwt')!;
  const parts = token.split('.');
  const shown = [
    ...['', '&readOnly=false', '&readOnly=', '&readOnly=false&readOnly=true', '&readonly=false'].map(
      (query) => [`jwt=${token}${query}`, {}] as const,
    ),
    // A control plane takes the token from a header, too.
    [`jwt=${[...parts.slice(0, 3), parts[4]].join('.')}`, { authorization: `Bearer ${token}` }] as const,
    // People add this to the other link.
    ...['true', 'TRUE', '1', ''].map((value) => [`jwt=${tokenOf(full)}&readOnly=${value}`, {}] as const),
  ];
  const end = JSON.stringify({ type: 'end' });
  const inputs = [end, JSON.stringify({ type: 'text', text: 'a' }), Buffer.from(end)];
  const attempts = shown.flatMap(([query, headers]) => inputs.map((input) => ({ query, headers, input })));
  await Promise.all(
    attempts.map(async ({ query, headers, input }) => {
      const socket = new WebSocket(`${service.url.replace('http', 'ws')}/browser/live/socket?${query}`, { headers });
      socket.once('open', () => socket.send(input)).on('error', () => {});
      const code = await new Promise((resolve) => socket.once('close', resolve));
      // Only a control plane reads the header. On another service the connection doesn't open.
      expect('authorization' in headers ? [1006, 1008] : [1008], query).toContain(code);
    }),
  );

  // The token without its mark, and with another one.
  for (const forged of [
    [...parts.slice(0, 3), parts[4]],
    [...parts.slice(0, 3), 'control', parts[4]],
    [...parts.slice(0, 3), '', parts[4]],
    [...parts.slice(0, 4), parts[4], parts[4]],
    [...parts.slice(0, 3), tokenOf(full).split('.')[3], parts[4]],
  ])
    expect((await fetch(`${service.url}/browser/live?jwt=${forged.join('.')}`)).status).toBe(404);
  expect((await call('GET', `/browsers/${session.session_id}`)).status).toBe(200);

  const control = new WebSocket(full.replace('http', 'ws').replace('/live?', '/live/socket?'));
  await once(control, 'open');
  control.send(end);
  await once(control, 'close');
  await expect.poll(async () => (await call('GET', `/browsers/${session.session_id}`)).status).toBe(404);
}

function tokenOf(url: string): string {
  return new URL(url).searchParams.get('jwt')!;
}
