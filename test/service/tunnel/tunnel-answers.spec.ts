import { createServer } from 'node:net';
import { chromium, expect, type Page } from '@playwright/test';
import { TunnelClient } from '../../../src/tunnel/tunnel-client.ts';
import { oddAnswers, type OddAnswer } from '../../support/http/odd-answers.ts';
import { serve, type Serving } from '../../support/http/serve.ts';
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
  test(`${answers.length} odd answers look the same through a tunnel as without it`, { tag }, async ({ call }) => {
    await using app = await startApp();
    const { cdp_ws_url, tunnel_ws_url } = (await startSession(call, { headless: true })) as Session;
    const observed = async () => {
      const browser = await chromium.connectOverCDP(cdp_ws_url);
      const page = await browser.newPage();
      await page.goto(`http://localhost:${app.port}/page`);
      const found: Record<string, unknown> = {};
      for (const odd of answers) found[odd.name] = await observe(page, odd);
      await browser.close();
      return found;
    };
    const direct = await observed();
    expect(Object.keys(direct)).toHaveLength(answers.length);
    const options = { url: tunnel_ws_url, expose: '<loopback>', signal: AbortSignal.timeout(9000) };
    const tunnel = await TunnelClient.open(options);
    expect(await observed()).toEqual(direct);
    tunnel.close();
  });

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
async function startApp(): Promise<Serving> {
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
  return await serve(server, '::1');
}
