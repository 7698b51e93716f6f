import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contract } from '../contract/contract.ts';
import { openSpans } from '../tracing/open-spans.ts';
import { OperationError } from '../contract/errors.ts';
import type { AuthConnections } from './logins/connections.ts';
import { openDashboard } from './dashboard/open-dashboard.ts';
import { flowEvents } from './logins/flow/flow-events.ts';
import { endOrphans } from './chromium/orphans.ts';
import type { Replays } from './replays/replays.ts';
import { Callers } from './organization/callers.ts';
import { systemClock, type Clock } from './process/clock.ts';
import { readLink } from './process/links.ts';
import { noLog, type Log } from './process/log.ts';
import { metricsRoute } from './metrics/metrics-route.ts';
import { isLoopback } from './process/network/loopback.ts';
import { ownVersion } from './process/own-version.ts';
import {
  DataDirectoryInUseError,
  makeDataDirectory,
  readServiceRecord,
  removeUnfinished,
  stillInPlace,
  storedKey,
} from './process/start/data-directory.ts';
import { everyStep, within } from './process/every-step.ts';
import { refuseWindows } from './process/start/system.ts';
import { Addresses } from './http/addresses.ts';
import { createApp } from './http/app.ts';
import { traced } from './traced.ts';
import { Auditor } from './audit/auditor.ts';
import { localOnly } from './sessions/in-session.ts';
import { cdpRoute } from './sessions/cdp/cdp-proxy.ts';
import { listen, type HttpServer } from './http/server.ts';
import { SocketRoutes } from './http/socket-route.ts';
import { operationHandlers } from './operation-handlers.ts';
import type { HostedLogin } from './logins/hosted/hosted-login-view.ts';
import { liveSession } from './live-view/live-view.ts';
import { liveViewRoute } from './live-view/live-view-sockets.ts';
import { noteCall } from './telemetry/note-call.ts';
import { tokenRequests } from './token-requests.ts';
import { tunnelRoute } from './tunnel/tunnel-sockets.ts';
import { createPages } from './views.ts';
import type { ReplayView } from './replays/replay-view.ts';
import { openParts, type Parts } from './parts.ts';
import { formerSessionsDirectory, makeSessionsDirectory } from './process/start/sessions-directory.ts';
import { removeTree } from './process/trees/remove-tree.ts';
import { defaultUids, mayChangeUser, SystemUsers } from './process/children/system-users.ts';
import { ApiKeyStore } from './organization/api-keys.ts';
import { closeDatabase, DatabaseInUseError, openDatabase, type Database } from './database/database.ts';

export { DataDirectoryInUseError, type ServiceRecord } from './process/start/data-directory.ts';

// Types are written out: each import would bring the declarations of all that its file uses into the package.
export type ServiceOptions = {
  /**
   * The directory for pools, profiles and the API key. Only one service can use it at a time. Default: a temporary one,
   * which the service deletes when it ends.
   */
  dataDirectory?: string;
  /** The port on the loopback address; 0, the default, is any free one. */
  port?: number;
  /**
   * The key that clients must send. Default: the key in the file `api-key` of the data directory. The service creates
   * the file if it is missing.
   */
  apiKey?: string;
  /** The path of Chromium (default: Playwright's own, else the system's), and whether it runs in its sandbox. */
  chromium?: { executable?: string; sandbox?: boolean };
  /**
   * The user ids of browser sessions and deployments, one for each while it runs. No account of the machine may have
   * one of them. Default: 20000 to 29999 if the service runs as root on Linux. `false`: all run as the service's user.
   * Only root can use other ids.
   */
  sessionUids?: { first: number; last: number } | false;
  /** The name or address to listen on. Default: 127.0.0.1. */
  host?: string;
  /**
   * The URL by which other machines reach the service, such as `https://pool.example`. All URLs in answers begin with
   * it. Default: the host that the caller used.
   */
  publicUrl?: string;
  /**
   * The PEM files of a certificate with its chain, and of its key: the service speaks https and wss. It reads them
   * again when they change.
   */
  tls?: { cert: string; key: string };
  /**
   * Addresses and networks of proxies before the service, such as `10.0.0.0/8`. Their headers X-Forwarded-Proto,
   * X-Forwarded-Host and X-Forwarded-For count. Default: none.
   */
  trustedProxies?: readonly string[];
  /** Keeps pages and CDP clients from all addresses of the service's machine. Default: false. */
  blockLoopback?: boolean;
  /** Lets the service listen beyond the loopback address although sessions have no user ids of their own. */
  allowSharedUser?: boolean;
  /** The bearer token with which scrapers read `/metrics`, beside API keys of the organization. Default: none. */
  metricsToken?: string;
  /** Sends a span for each traced request to `OTEL_EXPORTER_OTLP_ENDPOINT`. Default: false. */
  traces?: boolean;
  /** The format of replays. Default: H.264 in MP4 if Chromium can encode it, else VP9 or VP8 in WebM. */
  replayFormat?: 'h264' | 'vp9' | 'vp8';
  /** @internal Receives the events of the service. Default: nobody. */
  log?: Log;
  /** @internal The clock of the service; tests move it. */
  clock?: Clock;
  /** The most browsers that run at once in the organization, including those of pools. Default: 1000. */
  maxConcurrentSessions?: number;
  /**
   * How many bytes the pages of one session, or of one lease, may download. The service cancels further downloads.
   * Default: 4 GiB.
   */
  downloadQuota?: number;
  /** The days for which audit records are kept; 0 turns them off. Default: 90. */
  auditRetentionDays?: number;
  /** The space for audit records, in MiB. Above it, the oldest ones are removed. Default: 1024. */
  auditMaxMiB?: number;
  /** Directories of further `playwright-core` versions, for clients of `playwright_ws_url` that use them. */
  playwrightCores?: readonly string[];
  /** The machines that run the sessions. Default: this one. */
  machines?: {
    /** `dns://NAME:PORT` for all addresses behind a name, or the URLs of services. */
    from: string | readonly string[];
    /** The API key of the machines. Default: this service's own. */
    apiKey?: string;
    /** Hands out the machines' own URLs of sessions. Clients must reach the machines. Default: false. */
    directSessions?: boolean;
    /** A service for sessions that have no free slot on a machine; may be the hosted one. */
    overflow?: { url: string; apiKey: string; maxSessions?: number };
  };
  /** @internal The update server of the Chrome Web Store. Default: Google's. */
  chromeStore?: string;
  /** The largest request body in bytes. Default: 10 MiB for JSON, no limit for files. */
  bodyLimit?: number;
};

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
      directory,
      sessionsDirectory,
      users,
      isKept: dataDirectory !== undefined,
      database,
      apiKeys,
      clock,
      log,
      chromium: { ...options.chromium, ...(options.blockLoopback && { blockLoopback: true }) },
      replayFormat: options.replayFormat,
      maxConcurrentSessions: options.maxConcurrentSessions ?? 1000,
      downloadQuota: options.downloadQuota ?? 4 * 1024 ** 3,
      auditRetentionDays: options.auditRetentionDays ?? 90,
      auditMaxMiB: options.auditMaxMiB ?? 1024,
      chromeStore: options.chromeStore,
      playwrightCores: options.playwrightCores ?? [],
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
  const callers = new Callers(apiKeys, projects, connections.handoffs);
  const dashboard = openDashboard({ ...parts, callers, addresses, version: ownVersion(), pass: forwarding?.read });
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
    checkReadiness: () => parts.readiness.check(),
    pages: createPages({
      findReplay: (id, token) => usable(token) && replayView(replays, id, token),
      findLiveView: liveView,
      findLogin: (token) => {
        const link = usable(token);
        return link && hostedLogin(connections, token, { apiKeyId: link.apiKeyId, clock });
      },
      addresses,
    })
      .route('/', metricsRoute({ metrics, token: metricsToken, identify: (token) => apiKeys.find(token) }))
      .route('/', dashboard.pages),
    span: (spans ?? parts.machines) && traced(spans),
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(shared && { addUser: shared.addUser }),
  });
  const localByToken = (token: string) => localOnly(byToken(token));
  const routes =
    forwarding?.routes ??
    new SocketRoutes({
      '/browser/cdp': cdpRoute({ find: localByToken, clock, events }),
      '/browser/playwright': playwrightEndpoint.route,
      '/browser/tunnel': tunnelRoute({ find: localByToken, clock, bytes: tunnelBytes }),
      '/browser/live/socket': liveViewRoute({ find: (token) => localOnly(liveView(token)), view: liveSession, clock }),
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

function replayView(replays: Replays, id: string, token: string): ReplayView | undefined {
  const record = replays.byToken(token);
  return record?.id === id
    ? { ...record, error: record.failure?.message, video: () => replays.video(record) }
    : undefined;
}

function hostedLogin(
  connections: AuthConnections,
  token: string,
  links: { apiKeyId: string; clock: Clock },
): HostedLogin | undefined {
  const found = connections.logins.byToken(token);
  if (!found) return undefined;
  const { id, projectId, domain, profileName } = found.record;
  return {
    domain,
    profileName,
    events: (origin, signal) => flowEvents(connections.logins.follow(id, signal), { origin, ...links }),
    submit: (submission) => connections.submit(projectId, id, submission),
  };
}

async function openapi(): Promise<unknown> {
  const { openapi } = await import('../contract/openapi.ts');
  return openapi(contract, { title: 'playwright-pool', version: ownVersion() });
}
