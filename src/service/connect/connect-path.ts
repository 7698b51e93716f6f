import type { IncomingMessage } from 'node:http';
import { availableParallelism } from 'node:os';
import type { Duplex } from 'node:stream';
import { browserPools } from '../../contract/browser-pools.ts';
import { OperationError } from '../../contract/errors.ts';
import { engine as engineName, type Engine } from '../../contract/values.ts';
import { limitHeaders } from '../../contract/headers.ts';
import type { Answered } from '../audit/auditor.ts';
import type { Addresses } from '../http/addresses.ts';
import { errorHeaders, toOperationError } from '../http/answers/error-answer.ts';
import type { Callers } from '../http/app.ts';
import type { Caller } from '../http/handler.ts';
import type { SocketPath, SocketRequest } from '../http/socket-route.ts';
import { attachedLiveView } from '../live-view/live-view-document.ts';
import { versionOf } from '../playwright/playwright-endpoint.ts';
import { engineOf } from '../pools/pool-config.ts';
import type { Pool } from '../pools/pool.ts';
import { type Pools, acquire } from '../pools/pools.ts';
import type { Clock } from '../process/clock.ts';
import type { Log } from '../process/log.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import type { ProfileStore } from '../profiles/profiles.ts';
import type { Replays } from '../replays/replays.ts';
import { withoutCdp } from '../sessions/in-session.ts';
import { requestedLaunch } from '../sessions/launch.ts';
import type { Surroundings } from '../sessions/session-settings.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { askedProfile } from './asked-profile.ts';
import { attachedReplay } from './attached-replay.ts';
import {
  clientKind,
  connectParameters,
  readConnectQuery,
  readLaunchOptions,
  tagsOf,
  type ConnectQuery,
} from './connect-query.ts';
import { attachmentLines, endWith, Exchange } from './exchange.ts';

export type ConnectOptions = {
  callers: Callers;
  pools: Pools;
  sessions: Sessions;
  profiles: ProfileStore;
  surroundingsOf: (projectId: string) => Surroundings;
  replays: Replays;
  /** Whether the service creates the pool named `default` when it is first needed. */
  isEmbedded: boolean;
  addresses: Addresses;
  /** Lets a machine serve the client and end the lease. Returns its URL, or `undefined` to serve the client here. */
  redirect: (
    session: Session,
    path: '/cdp' | '/playwright',
    attachments: string[],
  ) => Promise<string | undefined> | undefined;
  auditor: { begin(request: IncomingMessage): (answered: Answered) => void };
  clock: Clock;
  events: ServiceEvents;
  log: Log;
};

/** The WebSocket of sessions to which a path passes its clients. */
export type Relay = {
  join(token: string, asked: SocketRequest, accepted: () => string[]): void;
};

/** The pool for clients that name none. */
const usualPool = 'default';
/** When a client should try again for which no browser became free, in seconds. */
const retryAfterSeconds = 5;

/** Leases a browser for each WebSocket at one path, and gives it back when the WebSocket closes. */
export class ConnectPath implements SocketPath {
  readonly #options: ConnectOptions;
  readonly #path: '/cdp' | '/playwright';
  readonly #relay: Relay;
  readonly #versionProblem: (userAgent: string | undefined) => string | undefined;
  readonly #sockets = new Set<Duplex>();

  /** `versionProblem` returns the reason why no browser can serve a client. */
  constructor(
    path: '/cdp' | '/playwright',
    options: ConnectOptions & {
      relay: Relay;
      versionProblem?: (userAgent: string | undefined) => string | undefined;
    },
  ) {
    this.#path = path;
    this.#options = options;
    this.#relay = options.relay;
    this.#versionProblem = options.versionProblem ?? (() => undefined);
  }

  upgrade(asked: SocketRequest): void {
    const { socket, request } = asked;
    this.#sockets.add(socket);
    const exchange = new Exchange(socket, {
      path: this.#path,
      names: connectParameters,
      record: this.#options.auditor.begin(request),
    });
    exchange.left.addEventListener('abort', () => this.#sockets.delete(socket));
    this.#serve(asked, exchange).catch((error: unknown) => {
      if (exchange.left.aborted) return;
      const known = toOperationError(error);
      if (known.code === 'internal_error') console.error(`a client of ${this.#path} could not lease a browser:`, error);
      const headers: Record<string, string> =
        known.status === 503 ? { [limitHeaders.retryAfter]: String(retryAfterSeconds) } : {};
      exchange.refuse(known.status, known.code, known.message, { ...headers, ...errorHeaders(known) });
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #serve(asked: SocketRequest, exchange: Exchange): Promise<void> {
    const { request, socket, search } = asked;
    const { callers, clock, log, sessions } = this.#options;
    const caller = exchange.identify(callers, asked);
    const query = readConnectQuery(search);
    const engine = askedEngine(query, request);
    if (engine !== 'chromium' && this.#path !== '/playwright') throw withoutCdp(engine, this.#path);
    const userAgent = request.headers['user-agent'];
    const client = { engine, playwright: versionOf(userAgent) };
    const launch = await requestedLaunch(readLaunchOptions(request), sessions.launcher, client);
    const problem = this.#versionProblem(userAgent);
    if (problem !== undefined) return exchange.refuse(428, 'playwright_version', problem);

    const pool = this.#poolOf(caller.projectId, query.pool, engine);
    const profile = askedProfile(query, pool, this.#options);
    const askedAt = clock.now();
    const tags = tagsOf(query, request.headers['user-agent']);
    const terms = {
      ...(query.name && { name: query.name }),
      ...(launch && { launch }),
      tags,
      endsWithSocket: true,
    } as const;
    const timeoutMs = query.acquire_timeout_seconds * 1000;
    const session = await acquire(pool, { ...terms, timeoutMs, signal: exchange.left }, this.#options);
    if (!session) {
      if (exchange.left.aborted) return;
      const reason = pool.waitReason === undefined ? '' : ` (${pool.waitReason})`;
      throw new OperationError(
        'unavailable',
        `no browser of the pool ${pool.name ?? pool.id} became free in ${query.acquire_timeout_seconds} s${reason}: try again, make the pool larger, or wait longer with acquire_timeout_seconds`,
      );
    }

    const { lease } = session;
    const noted = { session: session.id, pool: pool.name ?? pool.id, key: caller.apiKey.id };
    this.#options.events.emit('leasedByUrl', clientKind(request.headers['user-agent']));
    log('lease_started', { ...noted, waited_ms: clock.now() - askedAt });
    let isRedirected = false;
    endWith(socket, session, () => {
      if (isRedirected) return;
      pool.release(session.id, query.release === 'reuse');
      log('lease_ended', noted);
    });
    if (profile && session.profile?.id !== profile.id) {
      const load = (until: AbortSignal) => session.loadProfile(profile, query.save_changes, until);
      await this.#options.sessions.change(session, load, exchange.left);
      // Meanwhile another client may have got the browser.
      lease.signal.throwIfAborted();
    }
    const link = this.#asked(request, caller);
    const replay =
      query.replay === 'on'
        ? [await attachedReplay(session, this.#options.replays, { ...link, title: query.name })]
        : [];
    // The key may have been deleted while its client waited.
    exchange.identify(callers, asked);
    const attachments = [attachedLiveView(session, link), ...replay];
    const url = endsAnywhere(request, query) && (await this.#options.redirect(session, this.#path, attachments));
    if (url) {
      lease.signal.throwIfAborted();
      isRedirected = true;
      return exchange.redirect(url);
    }
    // The parameters of the query are meant for the lease. Those of the session's WebSocket have other meanings.
    this.#relay.join(lease.token, { ...asked, search: new URLSearchParams() }, () => {
      exchange.accepted();
      return attachmentLines(attachments);
    });
  }

  /** Throws `not_found`, and `bad_request` if the client must name a pool. */
  #poolOf(projectId: string, asked: string | undefined, engine: Engine): Pool {
    const { pools, isEmbedded } = this.#options;
    const all = pools.list(projectId).filter((pool) => engineOf(pool) === engine);
    const [only] = all;
    if (asked === undefined && only && all.length === 1) return only;
    if (asked === undefined || asked === usualPool) {
      const usual = all.find(({ name }) => name === usualPool);
      if (usual) return usual;
      if (isEmbedded)
        return pools.create(
          projectId,
          browserPools.create.body.parse({
            name: usualPool,
            size: usualSize(),
            ...(engine !== 'chromium' && { engine }),
          }),
        );
    }
    if (asked !== undefined) return pools.find(projectId, asked, engine);
    throw new OperationError(
      'bad_request',
      only
        ? `the project has ${all.length} pools${engine === 'chromium' ? '' : ` of ${engine}`}: add pool=NAME to the URL, for example pool=${only.name ?? only.id}`
        : `the project has no pool${engine === 'chromium' ? '' : ` of ${engine}`}: create one, and add pool=NAME to the URL`,
    );
  }

  #asked(request: IncomingMessage, caller: Caller) {
    const { addresses, clock } = this.#options;
    return { origin: addresses.originOf(request), apiKeyId: caller.apiKey.id, clock };
  }
}

/** Whether the client follows redirects, and its machine alone can end its lease. Puppeteer and other CDP clients don't follow. */
function endsAnywhere({ headers }: IncomingMessage, { release, replay, save_changes: isSaved }: ConnectQuery): boolean {
  const follows = headers['user-agent']?.startsWith('Playwright/') ?? false;
  return follows && release === 'recycle' && replay === 'off' && !isSaved;
}

/** The engine of the URL, or that of Playwright's client. Throws `bad_request` if they differ. */
function askedEngine({ engine: inQuery }: ConnectQuery, { headers }: IncomingMessage): Engine {
  const ofClient = headers['x-playwright-browser'] ?? inQuery ?? 'chromium';
  const { data } = engineName.safeParse(ofClient);
  const name = JSON.stringify(String(ofClient).slice(0, 64));
  if (!data)
    throw new OperationError('bad_request', `there is no engine ${name}: use ${engineName.options.join(', ')}`);
  if (inQuery === undefined || inQuery === data) return data;
  throw new OperationError('bad_request', `the URL has engine=${inQuery}, and the client wants ${name}: remove one`);
}

/** As many browsers as Playwright Test has workers by default, but at least two. */
function usualSize(): number {
  return Math.max(2, Math.ceil(availableParallelism() / 2));
}
