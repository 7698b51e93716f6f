import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@playwright/test';
import { randomOf } from '../../support/processes/random.ts';
import { test } from '../../support/service/service.ts';

const acquires = 1000;
const atOnce = 20;

test('leaks no browser and no memory when 1,000 acquire calls are aborted at random moments @long', async ({
  service,
}) => {
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

test('takes a granted browser back if the caller hangs up before it reads the answer, and only then', async ({
  service,
}) => {
  const { url, apiKey, call } = service;
  await call('POST', '/browser_pools', { size: 2, name: 'ci' });
  const counts = async () => (await call('GET', '/browser_pools/ci')).body;
  await expect.poll(counts).toMatchObject({ available_count: 2 });
  const { port, host } = new URL(url);
  const acquire = (paused: boolean) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1' });
    if (paused) socket.pause();
    socket.write(
      `POST /browser_pools/ci/acquire HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: 0\r\n\r\n`,
    );
    return socket;
  };

  const read = acquire(false);
  expect(String((await once(read, 'data'))[0])).toContain('HTTP/1.1 200');
  read.destroy();
  const unread = acquire(true);
  await expect.poll(counts).toMatchObject({ acquired_count: 2, available_count: 0 });
  unread.destroy();
  await expect.poll(counts).toMatchObject({ acquired_count: 1, available_count: 1 });
});

test("a connection that breaks after a release doesn't take the browser from its next holder", async ({ service }) => {
  const { url, apiKey, call } = service;
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { port, host } = new URL(url);
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  socket.write(
    `POST /browser_pools/ci/acquire HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: 0\r\n\r\n`,
  );
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

function openFiles(): number {
  return readdirSync('/proc/self/fd').length;
}
