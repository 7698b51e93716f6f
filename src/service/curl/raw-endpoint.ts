import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { curlTarget } from '../../contract/curl.ts';
import { octets } from '../../contract/operation.ts';
import { invalidInput } from '../http/answers/error-answer.ts';
import { readBody } from '../http/requests/request.ts';
import { rawPath, type RawExchange } from '../http/token-requests.ts';
import type { Claim } from '../process/waiting-bytes.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import { curlOf } from './curl.ts';
import { refuseBody } from './operations.ts';
import { refuseOwnPort } from './net-error.ts';

/** The largest body of a request, in bytes. It must fit into one CDP message. */
const largestBody = 10 * 1024 * 1024;

/** Request headers that aren't passed on. They concern the connection to the service, or the browser sends its own. */
const notSent =
  /^(host|connection|keep-alive|proxy-.*|te|trailers?|transfer-encoding|upgrade|content-length|expect|accept-encoding|sec-.*|x-stainless-.*|x-forwarded-.*|forwarded|traceparent|tracestate|idempotency-key)$/;
/** Values that HTTP libraries send by themselves. Without them, the browser sends its own values. */
const fromLibraries: Readonly<Record<string, RegExp>> = {
  'user-agent': /^(Kernel\/|node$|undici$)/,
  'accept-language': /^\*$/,
};

/** The cookie of a person who is signed in to the dashboard. A browser sends it if the person opens a link. */
const dashboardCookie = /(^|; ?)playwright-pool(-\d+)?=/;

/**
 * Response headers that aren't passed on. Some concern the connection to the target, or the encoding of the body. The
 * others would change settings of the service's own origin, if a person opens the answer in a browser.
 */
const notAnswered =
  /^(connection|keep-alive|proxy-.*|te|trailers?|transfer-encoding|upgrade|content-length|content-encoding|set-cookie|clear-site-data|strict-transport-security|alt-svc|service-worker-allowed|report-to|reporting-endpoints|nel|refresh|x-should-retry)$/;

/** A Content-Security-Policy: if a person opens the answer in a browser, its scripts run in an origin of their own. */
const sandbox = 'sandbox';

/**
 * Handles the endpoint `curl/raw`: sends the request through the session's browser to the URL in the query parameter
 * `url`, and streams the answer back. `timeout_ms` limits the wait until the answer begins.
 */
export async function curlRaw(
  session: LocalSession,
  { incoming, outgoing, search, waiting }: Pick<RawExchange, 'incoming' | 'outgoing' | 'search' | 'waiting'>,
  { ownPort, signal }: { ownPort: number; signal: AbortSignal },
): Promise<void> {
  const timeout = search.get('timeout_ms');
  const { data: target, error } = curlTarget.safeParse({
    url: search.get('url') ?? undefined,
    method: incoming.method,
    headers: sentHeaders(incoming),
    ...(timeout && { timeout_ms: Number(timeout) }),
  });
  if (!target) throw invalidInput(error.issues, 'query');
  const sent = (await readBody({ path: rawPath, body: octets() }, incoming, largestBody)) as Readable;
  const content = await buffer(counted(sent, waiting()));
  refuseBody(target.method, content);
  const options = {
    check: (url: string) => refuseOwnPort(url, ownPort),
    signal: AbortSignal.any([signal, session.lease.signal]),
  };
  await curlOf(session).send({ ...target, content }, options, async ({ status, headers, body }) => {
    outgoing.writeHead(status, answeredHeaders(headers));
    outgoing.flushHeaders();
    await pipeline(Readable.from(body, { objectMode: false, highWaterMark: 1 }), outgoing);
  });
}

/** Counts the bytes that arrive. Throws `OverBudget`. */
async function* counted(body: AsyncIterable<Buffer>, waiting: Claim): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    waiting.take(chunk.length);
    yield chunk;
  }
}

function sentHeaders({ rawHeaders }: IncomingMessage): Record<string, string> {
  const sent = new Map<string, string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name, value] = [rawHeaders[index]!.toLowerCase(), rawHeaders[index + 1]!];
    if (notSent.test(name) || fromLibraries[name]?.test(value)) continue;
    if (name === 'cookie' && dashboardCookie.test(value)) continue;
    const earlier = sent.get(name);
    sent.set(name, earlier === undefined ? value : `${earlier}${name === 'cookie' ? '; ' : ', '}${value}`);
  }
  return Object.fromEntries(sent);
}

function answeredHeaders(headers: Map<string, string[]>): Record<string, string | string[]> {
  const passed = Array.from(headers)
    .filter(([name]) => !notAnswered.test(name))
    .map(([name, values]) => [name, values.map(asBytes)] as const);
  const policies = headers.get('content-security-policy')?.map(asBytes) ?? [];
  return {
    ...Object.fromEntries(passed),
    'content-security-policy': [...policies, sandbox],
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    // The hosted service's SDK would otherwise send the request again after an error of the target.
    'x-should-retry': 'false',
  };
}

/** Makes a header value that `writeHead` accepts: one character for each byte, and no control characters. */
function asBytes(value: string): string {
  const latin1 = Buffer.from(value).toString('latin1');
  return Array.from(latin1, (character) => (/[\t\x20-\x7e\x80-\xff]/.test(character) ? character : ' ')).join('');
}
