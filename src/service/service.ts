import { mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contract } from '../contract/contract.ts';
import type { OperationTree } from '../contract/operation.ts';
import { openSpans } from '../tracing/open-spans.ts';
import type { Spans } from '../tracing/spans.ts';
import { OperationError } from '../contract/errors.ts';
import { openDashboard } from './dashboard/dashboard-routes.ts';
import { endOrphans } from './chromium/orphans.ts';
import type { forwarding } from './machines/control-plane.ts';
import { systemClock } from './process/clock.ts';
import { readLink } from './process/links.ts';
import { noLog } from './process/log.ts';
import { metricsRoute } from './metrics/metrics-route.ts';
import { isLoopback } from './process/network/loopback.ts';
import { withTraceHeaders } from './process/network/trace-headers.ts';
import {
  DataDirectoryInUseError,
  makeDataDirectory,
  readServiceRecord,
  removeUnfinished,
  stillInPlace,
  storedKey,
} from './process/start/data-directory.ts';
import { everyStep, within } from './process/every-step.ts';
import { Addresses } from './http/addresses.ts';
import type { ApiKeyIdentity } from './http/handler.ts';
import { createApp, type AppOptions, type Callers } from './http/app.ts';
import { Auditor } from './audit/auditor.ts';
import { local, localOnly, shownOnly } from './sessions/in-session.ts';
import type { ConnectOptions } from './connect/connect-path.ts';
import { connectPaths } from './connect/connect-paths.ts';
import { connectViews } from './connect/connect-views.ts';
import { cdpRoute } from './sessions/cdp/cdp-proxy.ts';
import { listen, type HttpServer } from './http/server.ts';
import { SocketRoutes } from './http/socket-route.ts';
import type { TokenRequests } from './http/token-requests.ts';
import { operationHandlers } from './operation-handlers.ts';
import { LockPath } from './locks/lock-path.ts';
import { liveSession } from './live-view/live-view.ts';
import { liveViewRoute } from './live-view/live-view-sockets.ts';
import { noteCall } from './telemetry/note-call.ts';
import { tunnelRoute } from './tunnel/tunnel-sockets.ts';
import { createPages, hostedLogin, replayView } from './views.ts';
import { openParts, type Parts } from './parts.ts';
import type { ServiceOptions } from './service-options.ts';
import { formerSessionsDirectory, makeSessionsDirectory, refuseWindows } from './process/start/sessions-directory.ts';
import { removeTree } from './process/trees/remove-tree.ts';
import { defaultUids, mayChangeUser, SystemUsers } from './process/children/system-users.ts';
import { ApiKeyStore } from './organization/api-keys.ts';
import { closeDatabase, DatabaseInUseError, openDatabase, type Database } from './database/database.ts';

export { DataDirectoryInUseError, type ServiceRecord } from './process/start/data-directory.ts';
export type { ServiceOptions } from './service-options.ts';

const { version } = createRequire(import.meta.url)('playwright-pool/package.json') as { version: string };

/** @internal Options of a service that other processes join. */
export type SharedOptions = {
  /** Registers a process as a user of the service; false if the service is about to end. */
  addUser: (pid: number) => boolean;
  /**
   * The unchecked definition of the pool that the first user will ask for. Its browsers start together with the
   * service.
   */
  firstPool?: unknown;
};

/** A running service. */
export type Service = {
  readonly url: string;
  readonly apiKey: string;
  /**
   * Refuses new sessions with 503, and ends browsers that nobody leased. Resolves when the last session has ended. Then
   * call `close`, or earlier.
   */
  drain(): Promise<void>;
  /** Ends all browsers, saves the profiles of sessions with `save_changes`, and ends the service, within 10 seconds. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

const loopbackAddress = '127.0.0.1';
const closeTimeoutMs = 10_000;
const databaseFile = 'service.db';

/**
 * Starts a browser automation service on the loopback address. Rejects with `DataDirectoryInUseError` if another
 * service holds the data directory.
 */
export function startService(options?: ServiceOptions): Promise<Service>;
/** @internal Starts a service that other processes join. */
export function startService(options: ServiceOptions, shared: SharedOptions): Promise<Service>;
export async function startService(options: ServiceOptions = {}, shared?: SharedOptions): Promise<Service> {
  refuseWindows();
  const {
    dataDirectory,
    clock = systemClock,
    log = noLog,
    host = loopbackAddress,
    sessionUids = mayChangeUser && defaultUids,
  } = options;
  if (!sessionUids && !options.allowSharedUser && !isLoopback(host)) {
    throw new Error(
      `The service does not listen on ${host}: browser sessions and apps would run as its own user, so everybody who may use them could read its files. ` +
        'Run the service as root, which gives each session a user id, or pass --allow-shared-user.',
    );
  }
  const addresses = new Addresses(options);
  const directory = dataDirectory ?? (await mkdtemp(join(tmpdir(), 'playwright-pool-')));
  const database = await openStore(dataDirectory);
  try {
    const isInPlace = dataDirectory === undefined ? () => true : stillInPlace(join(dataDirectory, databaseFile));
    if (dataDirectory !== undefined) {
      const left = await formerSessionsDirectory(dataDirectory);
      await endOrphans(left);
      await removeTree(left);
      await removeUnfinished(dataDirectory);
    }
    const sessionsDirectory = await makeSessionsDirectory(directory, sessionUids !== false);
    const users = sessionUids ? await SystemUsers.open(sessionUids) : undefined;

    const apiKeys = new ApiKeyStore(database, clock);
    const apiKey = options.apiKey ?? (await storedKey(dataDirectory, (key) => apiKeys.isRevoked(key)));
    apiKeys.setOwn(apiKey);
    let url = '';
    let ownPort = 0;
    const parts = await openParts({
      ...options,
      directory,
      sessionsDirectory,
      users,
      isKept: dataDirectory !== undefined,
      database,
      apiKeys,
      clock,
      log,
      chromium: { ...options.chromium, ...(options.blockLoopback && { blockLoopback: true }) },
      machines: options.machines && { apiKey, ...options.machines },
      url: () => url,
      ownPort: () => ownPort,
    });
    if (shared) createFirstPool(parts, shared.firstPool);
    const spans = options.traces ? openSpans({ service: 'playwright-pool' }) : undefined;
    const server = await serve(parts, { ...options, addresses, spans }, shared).catch(async (error: unknown) => {
      await everyStep(
        () => parts.endBrowsers(),
        () => parts.auditLogs.close(),
      ).catch(() => {});
      throw error;
    });

    // A certificate is valid for the public host name, not for the loopback address.
    url = (options.tls && options.publicUrl) ?? server.url;
    ownPort = Number(new URL(server.url).port);
    parts.apps.resume();
    const end = () =>
      everyStep(
        () => server.stop(),
        () => parts.endBrowsers(),
        () => server.closeWebSockets(),
        () => server.drain(),
        async () => (await spans)?.close(),
        () => parts.auditLogs.close(),
        // Before the database is closed: until then, no other service can open the directory.
        () => isInPlace() && removeTree(sessionsDirectory),
        () => dataDirectory === undefined && removeTree(directory),
        () => closeDatabase(database, isInPlace()),
      );
    let ended: Promise<void> | undefined;
    const close = () => (ended ??= within(closeTimeoutMs, end()));
    return { url, apiKey, drain: () => parts.drain(), close, [Symbol.asyncDispose]: close };
  } catch (error) {
    closeDatabase(database);
    if (dataDirectory === undefined) await removeTree(directory);
    throw error;
  }
}

/** Serves the parts over HTTP. Rejects if the port is in use. */
async function serve(
  parts: Parts,
  {
    port = 0,
    host = loopbackAddress,
    tls,
    bodyLimit,
    metricsToken,
    addresses,
    spans,
  }: ServiceOptions & { addresses: Addresses; spans: ReturnType<typeof openSpans> | undefined },
  shared: SharedOptions | undefined,
): Promise<HttpServer & { closeWebSockets: () => void }> {
  const { apiKeys, auditLogs, clock, connections, events, log, metrics } = parts;
  const { playwrightEndpoint, projects, replays, sessions, tunnelBytes } = parts;
  /** Reads the token of a link to an HTML page. It works until it expires or its API key is deleted. */
  const usable = (token: string) => {
    const link = readLink(token);
    return link && link.expiresAt > clock.now() && apiKeys.isUsable(link.apiKeyId) ? link : undefined;
  };
  const liveView = (token: string) => usable(token) && sessions.byLiveViewToken(token);
  const byToken = (token: string) => sessions.byToken(token);
  const control = parts.machines && (await import('./machines/control-plane.ts'));
  const forwarding = control?.forwarding({ sessions, byToken, byLiveViewToken: liveView, clock, events, tunnelBytes });
  const callers: Callers = {
    identify: (token) => apiKeys.find(token) ?? keyOfLogin(parts, token),
    projectOf: (apiKey, chosen) => projects.projectOf(apiKey, chosen),
  };
  const dashboard = openDashboard({ ...parts, callers, addresses, version, pass: forwarding?.read });
  const auditor = new Auditor({ contract, trail: auditLogs, clock, addresses });
  const app = createApp({
    contract,
    handlers: operationHandlers(parts),
    callers,
    signedIn: dashboard.signedIn,
    clock,
    log,
    addresses,
    forward: forwarding && ((...request) => forwarding.forward(...request)),
    called: (call) => noteCall(parts.sessions, call),
    tokenRequests: tokenRequests(parts, forwarding),
    auditor,
    waitingBytes: parts.waitingBytes,
    openapi,
    checkReadiness: async () => {
      await parts.readiness.check();
      return { engines: await sessions.offered?.read() };
    },
    pages: createPages({
      findReplay: (id, token) => usable(token) && replayView(replays, id, token),
      findLiveView: liveView,
      findLogin: (token) => {
        const link = usable(token);
        return link && hostedLogin(connections, token, { apiKeyId: link.apiKeyId, clock });
      },
      addresses,
    })
      .route(
        '/',
        metricsRoute(metrics, metricsToken, (token) => apiKeys.find(token)),
      )
      .route('/', connectViews(addresses))
      .route('/', dashboard.pages),
    span: (spans ?? parts.machines) && traced(spans),
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(shared && { addUser: shared.addUser }),
  });
  const localByToken = (token: string) => {
    const session = byToken(token);
    return session && local(session);
  };
  const sockets = forwarding?.routes ?? {
    '/browser/cdp': cdpRoute({ find: localByToken, clock, events }),
    '/browser/playwright': playwrightEndpoint.route,
    '/browser/tunnel': tunnelRoute({ find: localByToken, clock, bytes: tunnelBytes }),
    '/browser/live/socket': liveViewRoute({ find: (token) => shownOnly(liveView(token)), view: liveSession, clock }),
  };
  const redirect: ConnectOptions['redirect'] = (...to) => forwarding?.redirect(...to);
  const connect = { ...parts, callers, addresses, auditor, redirect, isEmbedded: shared !== undefined };
  const routes = new SocketRoutes({
    ...sockets,
    ...connectPaths(sockets, connect),
    '/locks': new LockPath({ ...connect, locks: parts.locks }),
  });
  const server = await listen({
    fetch: app.fetch,
    port,
    host,
    addresses,
    tls,
    follow: (...exchange) => auditor.follow(...exchange),
    upgrade: (...upgrade) => routes.upgrade(...upgrade),
  });
  return { ...server, closeWebSockets: () => routes.close() };
}

/**
 * A wrong definition doesn't stop the service, because its other pools are in use. An acquire from this pool reports
 * the mistake.
 */
function createFirstPool({ pools, projects }: Parts, definition: unknown): void {
  const { data } = contract.browserPools.create.body.safeParse(definition);
  try {
    if (data) pools.create(projects.defaultId(), data);
  } catch (error) {
    if (!(error instanceof OperationError)) console.error('the pool of the first run could not be created:', error);
  }
}

async function openStore(dataDirectory: string | undefined): Promise<Database> {
  if (dataDirectory === undefined) return openDatabase();
  makeDataDirectory(dataDirectory);
  try {
    return await openDatabase(join(dataDirectory, databaseFile));
  } catch (error) {
    if (!(error instanceof DatabaseInUseError)) throw error;
    throw new DataDirectoryInUseError(dataDirectory, readServiceRecord(dataDirectory));
  }
}

async function openapi(): Promise<unknown> {
  const { openapi } = await import('../contract/openapi.ts');
  return openapi(contract, { title: 'playwright-pool', version });
}

/** The token of a login flow works for two operations, as long as the API key that started the flow is valid. */
function keyOfLogin({ apiKeys, connections }: Parts, token: string): ApiKeyIdentity | undefined {
  const handoff = connections.handoffs.find(token);
  const apiKey = handoff && apiKeys.findById(handoff.apiKeyId);
  if (!apiKey) return undefined;
  const path = `/auth/connections/${handoff.connectionId}`;
  return { ...apiKey, projectId: handoff.projectId, only: [`GET ${path}`, `POST ${path}/submit`] };
}

/**
 * Answers requests below a session's `base_url`. They have no API key, but the session's token in the query (`jwt`). If
 * the session runs on another machine, which this service controls, the request is forwarded to that machine.
 */
function tokenRequests(
  { sessions, ownPort }: Parts,
  forwarded: ReturnType<typeof forwarding> | undefined,
): TokenRequests {
  return {
    find: (token) => {
      const session = sessions.byToken(token);
      return session && { id: session.id, projectId: session.settings.projectId };
    },
    raw: ({ id, projectId }, exchange) =>
      sessions.use(projectId, id, async (session) => {
        if (forwarded && !localOnly(session)) return await forwarded.raw(session, exchange);
        const { curlRaw } = await import('./curl/raw-endpoint.ts');
        await curlRaw(local(session), exchange, { ownPort: ownPort(), signal: exchange.signal });
      }),
  };
}

/**
 * Runs each request in an OpenTelemetry span, if tracing is on. Requests that the service sends meanwhile to other
 * machines name this span as their parent. Without tracing, they name the caller's span.
 */
function traced(spans: Promise<Spans> | undefined): NonNullable<AppOptions<OperationTree>['span']> {
  return async (name, parent, act) => {
    if (!spans) return await withTraceHeaders({ traceparent: parent }, act);
    return await (await spans).run({ name, parent }, (headers) => withTraceHeaders(headers, act));
  };
}
