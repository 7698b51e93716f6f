import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { chromium, expect, type Page } from '@playwright/test';
import { TunnelClient } from '../../../src/tunnel/tunnel-client.ts';
import { oddAnswers, type OddAnswer } from '../../support/http/odd-answers.ts';
import { startSession } from '../../support/service/profiles.ts';
import { test } from '../../support/service/service.ts';

type Session = { session_id: string; cdp_ws_url: string; tunnel_ws_url: string };

const few = new Set([
  'UTF-8 in a redirect',
  '64 KiB of headers',
  'line feeds alone',
  'an unusual reason',
  'early hints',
  'a reset',
]);

for (const { answers, tag } of [
  { answers: oddAnswers.filter(({ name }) => few.has(name)), tag: [] },
  { answers: oddAnswers, tag: ['@long'] },
])
  test(
    `${answers.length} odd answers look the same through a tunnel as without it`,
    { tag },
    async ({ service: { call } }) => {
      const app = await startApp();
      const origin = `http://localhost:${(app.address() as AddressInfo).port}`;
      const observed = async (isTunneled: boolean) => {
        const session = (await startSession(call, { headless: true })) as Session;
        const options = { url: session.tunnel_ws_url, expose: '<loopback>', signal: AbortSignal.timeout(9000) };
        const tunnel = isTunneled ? await TunnelClient.open(options) : undefined;
        const browser = await chromium.connectOverCDP(session.cdp_ws_url);
        const page = await browser.newPage();
        await page.goto(`${origin}/page`);
        const found: Record<string, unknown> = {};
        for (const odd of answers) found[odd.name] = await observe(page, odd);
        await browser.close();
        tunnel?.close();
        return found;
      };
      const direct = await observed(false);
      expect(Object.keys(direct)).toHaveLength(answers.length);
      expect(await observed(true)).toEqual(direct);
      app.close();
    },
  );

/** What a page and its network events show of an answer. */
async function observe(page: Page, odd: OddAnswer): Promise<unknown> {
  const failures: (string | undefined)[] = [];
  const path = `/odd/${oddAnswers.indexOf(odd)}`;
  const isAsked = (request: { url(): string }) => request.url().endsWith(path);
  page.on('requestfailed', (request) => failures.push(request.failure()?.errorText));
  const answered = page.waitForResponse(isAsked).catch(() => undefined);
  const fetched = await page.evaluate(
    async ([path, method]) => {
      try {
        const answer = await fetch(path, { method, cache: 'no-store', signal: AbortSignal.timeout(1000) });
        const { status, statusText, url, redirected, headers } = answer;
        const read = answer.arrayBuffer().then((bytes) => [...new Uint8Array(bytes)]);
        const body = await read.catch((error: Error) => error.name);
        return { status, statusText, url, redirected, headers: [...headers], body, cookie: document.cookie };
      } catch (error) {
        return (error as Error).name;
      }
    },
    [path, odd.method ?? 'GET'] as const,
  );
  page.removeAllListeners('requestfailed');
  if (typeof fetched === 'string') return { fetched, failures };
  const answer = await answered;
  return { fetched, failures, reason: answer?.statusText(), headers: await answer?.headersArray() };
}

/** Serves `/odd/<index>` with the bytes of that odd answer, and a page for all else. Listens on IPv6 only. */
async function startApp(): Promise<Server> {
  const server = createServer((socket) => {
    let received = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
      const [, path] = /^\S+ (\S+)[^]*\r\n\r\n$/.exec(received) ?? [];
      if (path === undefined) return;
      received = '';
      const { bytes: answer, closing } = oddAnswers[Number(/^\/odd\/(\d+)$/.exec(path)?.[1])] ?? {
        bytes: 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\npage',
      };
      socket.write(answer, () => {
        if (closing === 'end') socket.end();
        // Later, because a reset can overtake bytes that nobody has read yet.
        if (closing === 'reset') setTimeout(() => socket.resetAndDestroy(), 50);
      });
    });
  });
  await once(server.listen(0, '::1'), 'listening');
  return server;
}
