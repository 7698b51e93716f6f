import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@playwright/test';
import { randomOf } from '../../support/processes/random.ts';
import type { TestService } from '../../support/service/service.ts';
import { test } from '../shared-service.ts';

const acquires = 1000;
const atOnce = 20;

test('leaks nothing when 1,000 acquire calls are aborted at random moments @long', async ({ service }) => {
  const { url, apiKey, call } = service;
  const warnings: string[] = [];
  const noteWarning = (warning: Error) => warnings.push(String(warning));
  process.on('warning', noteWarning);
  await call('POST', '/browser_pools', { size: 2, name: 'ci' });
  const { body: held } = await call('POST', '/browser_pools/ci/acquire', {});
  const path = `${url}/browser_pools/ci/acquire`;
  const before = openFiles();
  const random = randomOf(6);
  let left = acquires;
  const outcomes = { aborted: 0, granted: 0 };
  const acquireSome = async () => {
    while ((left -= 1) >= 0) {
      const signal = AbortSignal.timeout(random(40));
      try {
        const answer = await fetch(path, { method: 'POST', headers: { authorization: `Bearer ${apiKey}` }, signal });
        const { session_id } = (await answer.json()) as { session_id: string };
        outcomes.granted += 1;
        // A holder returns its browser, so that others get a grant in the middle of their abort.
        await sleep(random(3));
        expect((await call('POST', '/browser_pools/ci/release', { session_id, reuse: true })).status).toBe(204);
      } catch (error) {
        if (!signal.aborted) throw error;
        outcomes.aborted += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, acquireSome));
  expect(outcomes.aborted).toBeGreaterThan(acquires / 2);

  const counts = async () => (await call('GET', '/browser_pools/ci')).body;
  await expect.poll(counts, { timeout: 20_000 }).toMatchObject({ acquired_count: 1, available_count: 1 });
  await call('POST', '/browser_pools/ci/release', { session_id: held.session_id });
  await expect.poll(counts, { timeout: 20_000 }).toMatchObject({ acquired_count: 0, available_count: 2 });
  await expect.poll(openFiles, { timeout: 20_000 }).toBeLessThan(before + 20);
  process.off('warning', noteWarning);
  expect(warnings).toEqual([]);
});

test('takes a browser back if the caller hangs up before it reads the answer, and only then', async ({ service }) => {
  const { call } = service;
  await call('POST', '/browser_pools', { size: 2, name: 'ci' });
  const counts = async () => (await call('GET', '/browser_pools/ci')).body;
  await expect.poll(counts).toMatchObject({ available_count: 2 });
  const read = acquireFrom(service);
  expect(String((await once(read, 'data'))[0])).toContain('HTTP/1.1 200');
  read.destroy();
  const unread = acquireFrom(service).pause();
  await expect.poll(counts).toMatchObject({ acquired_count: 2, available_count: 0 });
  unread.destroy();
  await expect.poll(counts).toMatchObject({ acquired_count: 1, available_count: 1 });
});

test("a connection that breaks after a release doesn't take the browser from its next holder", async ({ service }) => {
  const { call } = service;
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const socket = acquireFrom(service);
  const [, session_id] = /"session_id":"(\w+)"/.exec(String((await once(socket, 'data'))[0]))!;
  await call('POST', '/browser_pools/ci/release', { session_id, reuse: true });
  expect((await call('POST', '/browser_pools/ci/acquire', {})).body).toMatchObject({ session_id });
  socket.resetAndDestroy();
  await once(socket, 'close');
  // An answer proves that the service has read from its sockets.
  await call('GET', '/browser_pools');
  expect((await call('GET', '/browser_pools/ci')).body).toMatchObject({ acquired_count: 1 });
  expect((await call('GET', `/browsers/${session_id}`)).status).toBe(200);
});

/** Acquires a browser of the pool `ci` over a connection of its own. */
function acquireFrom({ url, apiKey }: TestService): Socket {
  const { port, host } = new URL(url);
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  const headers = `Host: ${host}\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: 0`;
  socket.write(`POST /browser_pools/ci/acquire HTTP/1.1\r\n${headers}\r\n\r\n`);
  return socket;
}

function openFiles(): number {
  return readdirSync('/proc/self/fd').length;
}
