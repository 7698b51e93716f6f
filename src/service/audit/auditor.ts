import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { ExportedAuditLog } from '../../contract/audit-logs.ts';
import { testRuns } from '../../contract/test-runs.ts';
import { operationsOf, type OperationTree } from '../../contract/operation.ts';
import type { Clock } from '../process/clock.ts';
import type { Addresses } from '../http/addresses.ts';
import { healthPaths, metricsPath } from '../http/app.ts';
import type { ApiKeyIdentity } from '../http/handler.ts';

/** Stores the records of requests. */
export type AuditTrail = { add(record: ExportedAuditLog & { service: string }): void };

type Noted = { route: string; apiKey: ApiKeyIdentity | undefined };

/** The answer to a request. Records keep only the values of the query parameters `names`. */
export type Answered = Noted & { status: number; requestId: string; names: ReadonlySet<string> | undefined };

type AuditedContext = Context<{ Bindings: HttpBindings; Variables: { apiKey: ApiKeyIdentity } }>;

/** The longest texts, in characters. Anybody can send requests without a key, so their records are short. */
const longest = { path: 2048, domain: 255, userAgent: 512 };
const longestWithoutKey = { path: 200, domain: 64, userAgent: 64 };
/** Routes without records, because load balancers request them every few seconds. */
const unrecorded: ReadonlySet<string> = new Set(Object.values(healthPaths));
const redacted = '[redacted]';
/**
 * Parameters whose values are never recorded: secrets, and search words. If search words were recorded, each search
 * would find the requests of earlier searches.
 */
const neverKept = /token|cursor|jwt|secret|password|key|^search/i;

/**
 * Writes an audit record for each request to the service, once it is answered or its caller has closed the connection.
 */
export class Auditor {
  readonly #trail: AuditTrail;
  readonly #clock: Clock;
  readonly #addresses: Addresses;
  /** The names of the operations' query parameters, by method and route. */
  readonly #queryNames: Map<string, Set<string>>;
  /** The caller and the route of each request, by its answer. */
  readonly #noted = new WeakMap<object, () => Noted>();

  constructor(options: { contract: OperationTree; trail: AuditTrail; clock: Clock; addresses: Addresses }) {
    this.#trail = options.trail;
    this.#clock = options.clock;
    this.#addresses = options.addresses;
    const operations = Array.from(operationsOf(options.contract), ([, operation]) => operation);
    this.#queryNames = new Map(
      operations.map(
        ({ method, path, query }) => [`${method} ${path}`, new Set(Object.keys(query?.shape ?? {}))] as const,
      ),
    );
  }

  /** Notes the caller and the route of a request. A request that is refused before routing has neither. */
  noteCaller(context: AuditedContext): void {
    this.#noted.set(context.env.outgoing, () => ({ route: routeOf(context), apiKey: context.get('apiKey') }));
  }

  /**
   * Keeps the caller and the route, but not the context, which takes more memory. Call it for a request that waits
   * long, once it has its route and its caller.
   */
  releaseContext(context: AuditedContext): void {
    const noted = { route: routeOf(context), apiKey: context.get('apiKey') };
    this.#noted.set(context.env.outgoing, () => noted);
  }

  /** Waits for the end of a request, and records it. */
  follow(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method = '' } = incoming;
    const record = this.begin(incoming);
    outgoing.on('close', () => {
      const { route, apiKey } = this.#noted.get(outgoing)?.() ?? { route: '', apiKey: undefined };
      const isScrape = route === metricsPath && outgoing.statusCode === 200;
      const { statusCode } = outgoing;
      if (unrecorded.has(route) || isScrape || isRead(method, route, statusCode) || isReport(route, statusCode)) return;
      const status = isUndelivered(outgoing) ? 499 : outgoing.statusCode;
      const names = this.#queryNames.get(`${method} ${route}`);
      record({ route, apiKey, status, requestId: String(outgoing.getHeader('x-request-id')), names });
    });
  }

  /** Call it when a request arrives. The returned function records the request: call it with the answer. */
  begin(incoming: IncomingMessage): (answered: Answered) => void {
    const { method = '', url = '', headers } = incoming;
    const receivedAt = this.#clock.now();
    // Read now, because a closed socket has no address.
    const clientIp = this.#addresses.callerOf(incoming);
    return ({ route, apiKey, status, requestId, names }) => {
      const withoutTokens = tokenRedaction(headers.authorization);
      const most = apiKey ? longest : longestWithoutKey;
      this.#trail.add({
        event_id: requestId,
        service: /^\/(browser\/|dashboard\/|$)/.test(route) ? 'pages' : 'api',
        timestamp: new Date(receivedAt).toISOString(),
        auth_strategy: apiKey ? 'api_key' : '',
        user_id: apiKey?.id ?? '',
        email: apiKey?.email ?? '',
        status,
        method,
        path: withoutTokens(recordedPath(route.endsWith('/{token}') ? route : url, names)).slice(0, most.path),
        route,
        domain: withoutTokens(headers.host ?? '').slice(0, most.domain),
        duration_ms: Math.max(0, this.#clock.now() - receivedAt),
        client_ip: clientIp,
        user_agent: withoutTokens(headers['user-agent'] ?? '').slice(0, most.userAgent),
      });
    };
  }
}

/** Whether a shard of a run reported results. Each shard does that every few seconds. */
function isReport(route: string, status: number): boolean {
  return route === testRuns.report.path && status < 400;
}

/** Whether a dashboard page fetched its data. An open page does that several times per second. */
function isRead(method: string, route: string, status: number): boolean {
  return method === 'GET' && status < 400 && (route === '/' || route.startsWith('/dashboard/'));
}

/**
 * Whether the caller closed the connection before the answer was sent. A stream that the caller left counts as
 * answered.
 */
function isUndelivered({ headersSent, writableEnded, writableFinished }: ServerResponse): boolean {
  return !headersSent || (writableEnded && !writableFinished);
}

/** The path that matched, with its parameters in braces; empty if none matched. */
function routeOf(context: AuditedContext): string {
  const path = matchedRoutes(context).findLast((route) => !route.path.endsWith('*'))?.path ?? '';
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

/**
 * The URL's path and query. Keeps only the values of parameters that the operation knows, because others may be
 * secrets.
 */
function recordedPath(url: string, names: ReadonlySet<string> | undefined): string {
  const start = url.indexOf('?');
  if (start === -1) return url;
  const pairs = url
    .slice(start + 1)
    .split('&')
    .map((pair) => {
      const [name = ''] = pair.split('=', 1);
      const isKept = names?.has(/^\w*/.exec(name)![0]) && !neverKept.test(name);
      if (isKept || pair === '') return pair;
      return pair.includes('=') ? `${name}=${redacted}` : redacted;
    });
  return `${url.slice(0, start)}?${pairs.join('&')}`;
}

/** Removes API keys from a text: the key of the request, and every text with the form of a key. */
function tokenRedaction(authorization: string | undefined): (text: string) => string {
  const [, token] = /^\w+ +(.+)$/.exec(authorization ?? '') ?? [];
  return (text) => {
    const others = text.replaceAll(/\b(?:pwp|sk)_[\w.-]{16,}/g, redacted);
    return token === undefined || token.length < 8
      ? others
      : others.replaceAll(token, redacted).replaceAll(encodeURIComponent(token), redacted);
  };
}
