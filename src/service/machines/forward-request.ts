import http, { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream/promises';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import { traceHeaders } from '../process/network/trace-headers.ts';
import { answerLimit, limitAnswer, type ForwardedOperation } from './answer-limit.ts';
import type { MachineSession } from './machine-session.ts';

/** Headers that belong to one connection, and headers that the control plane sets itself. */
const notForwarded = new Set([
  'authorization',
  'connection',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'origin',
  'set-cookie',
  'transfer-encoding',
  'x-kernel-project-id',
  'x-request-id',
]);
const ofConnection = new Set(['connection', 'expect', 'host', 'keep-alive', 'transfer-encoding']);
/** How long a machine may take to answer after the session ended or was released, in ms. */
const letGoMs = 3000;
const agents = {
  'http:': new http.Agent({ keepAlive: true }),
  'https:': new https.Agent({ keepAlive: true }),
};

/**
 * Passes a request about a session on to its machine, and passes the answer back. Parses neither body. `isRaw`: the
 * request has the session's token instead of an API key, and its headers are for the site that the session's browser
 * requests. Throws `unavailable` if the connection to the machine fails, and `machine_timeout` if the machine doesn't
 * answer in time.
 */
export async function forwardRequest(
  session: MachineSession,
  { incoming, outgoing, url: path }: { incoming: IncomingMessage; outgoing: ServerResponse; url?: string },
  { operation, clock, isRaw = false }: { operation: ForwardedOperation; clock: Clock; isRaw?: boolean },
): Promise<void> {
  const { url, base } = targetOf(session, path ?? incoming.url ?? '/');
  // The machine expects the token in the URL, because the headers are for the site.
  if (isRaw) url.searchParams.set('jwt', new URL(session.links.cdp_ws_url).searchParams.get('jwt') ?? '');
  const request = (base === 'https:' ? https : http).request(url, {
    method: incoming.method,
    agent: agents[base],
    headers: {
      ...(isRaw ? rawHeaders(incoming.headers) : forwarded(incoming.headers)),
      ...bodyHeader(incoming),
      ...(!isRaw && { ...traceHeaders(), authorization: `Bearer ${session.host.apiKey}` }),
    },
  });
  // The caller hung up, or got its answer before it sent the whole body.
  const drop = () => void request.destroy();
  outgoing.once('close', drop);
  const { lease } = session;
  let cancelLetGo: (() => void) | undefined;
  const held = {
    letGo: () => void (cancelLetGo = clock.after(letGoMs, () => held.destroy())),
    destroy: drop,
  };
  session.sockets.add(held);
  // The promise below handles the first error. Ignore later ones: the connection may break again.
  request.on('error', () => {});
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
  });
  const limitMs = answerLimit(operation);
  const late = new OperationError('machine_timeout', lateMessage(session.host.url, incoming, limitMs));
  const expire = () => request.destroy(late);
  const stopLimit = limitMs !== undefined && limitAnswer({ incoming, request }, { limitMs, clock, expire });
  // A machine may refuse a body before it has read all of it. The caller's connection must survive that.
  incoming.pipe(request);
  try {
    const answer = await answered.catch((error: unknown) => {
      if (error === late) throw late;
      if (lease.signal.aborted)
        throw new OperationError(
          'not_found',
          `the browser session ${session.id} ended or was released during this call: start or lease another one`,
        );
      if (!outgoing.destroyed) session.host.suspect();
      const message = `the machine ${session.host.url} of the browser session ${session.id} does not answer: check that it runs`;
      throw new OperationError('unavailable', message, { cause: error });
    });
    if (stopLimit) stopLimit();
    answer.on('error', () => {});
    outgoing.writeHead(answer.statusCode ?? 502, forwarded(answer.headers));
    // Without this, the caller of a silent event stream doesn't learn that the stream is open.
    outgoing.flushHeaders();
    const isStream = answer.headers['content-type']?.startsWith('text/event-stream');
    // When the session ends, a stream ends normally. Other answers break off, so that they don't look complete.
    if (isStream) held.destroy = () => void outgoing.end();
    await pipeline(answer, outgoing);
  } finally {
    if (stopLimit) stopLimit();
    cancelLetGo?.();
    incoming.unpipe(request);
    outgoing.off('close', drop);
    session.sockets.delete(held);
  }
}

function lateMessage(machine: string, { method, url = '/' }: IncomingMessage, limitMs = 0): string {
  const call = `${method} ${url.split('?')[0]}`;
  return `the machine ${machine} did not answer ${call} within ${limitMs / 1000} s: check whether the call took effect before you repeat it`;
}

function targetOf({ host }: MachineSession, path: string): { url: URL; base: 'http:' | 'https:' } {
  const { origin, pathname, protocol } = new URL(host.url);
  return { url: new URL(origin + pathname.replace(/\/+$/, '') + path), base: protocol as 'http:' | 'https:' };
}

/** Sends a body of unknown length in chunks, as the caller does. */
function bodyHeader({ headers }: IncomingMessage): OutgoingHttpHeaders {
  return headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' };
}

function rawHeaders(headers: IncomingMessage['headers']): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.has(name)));
}

function forwarded(headers: IncomingMessage['headers']): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !notForwarded.has(name)));
}
