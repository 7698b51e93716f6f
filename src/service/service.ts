import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contract } from '../contract/contract.ts';
import { OperationError } from '../contract/errors.ts';
import type { AuthConnections } from './auth/connections.ts';
import { flowEvents } from './auth/flow-events.ts';
import { endOrphans } from './browsers/orphans.ts';
import type { Replays } from './browsers/replays.ts';
import { Callers } from './callers.ts';
import { systemClock, type Clock } from './clock.ts';
import {
  DataDirectoryInUseError,
  makeDataDirectory,
  readServiceRecord,
  removeUnfinished,
  stillInPlace,
  writePrivateFile,
} from './data-directory.ts';
import { everyStep } from './every-step.ts';
import { createApp } from './http/app.ts';
import { Auditor } from './http/audit.ts';
import { CdpProxy } from './http/cdp-proxy.ts';
import { listen, type HttpServer } from './http/server.ts';
import { operationHandlers } from './operation-handlers.ts';
import type { HostedLogin } from './pages/hosted-login-page.ts';
import { LiveViewSockets } from './pages/live-view-sockets.ts';
import { createPages } from './pages/pages.ts';
import type { ReplayView } from './pages/replay-pages.ts';
import { openParts, type Parts } from './parts.ts';
import { removeTree } from './remove-tree.ts';
import { ApiKeyStore } from './store/api-keys.ts';
import { closeDatabase, DatabaseInUseError, openDatabase, type Database } from './store/database.ts';

export { DataDirectoryInUseError };

// Types are written out: each import would bring the declarations of all that its file uses into the package.
export type ServiceOptions = {
  /** Where pools, profiles and the API key are kept; one service at a time. Without it they are gone when the service ends. */
  dataDirectory?: string;
  /** The port on the loopback address; 0, the default, is any free one. */
  port?: number;
  /** The key that clients must send. Default: the one in the file `api-key` of the data directory, which is made when it is missing. */
  apiKey?: string;
  /** Which Chromium to run (default: Playwright's own, else the system's), and whether in its sandbox. */
  chromium?: { executable?: string; sandbox?: boolean };
  /** How replays are encoded. Default: H.264 in MP4 where Chromium can, else VP9 or VP8 in WebM. */
  replayFormat?: 'h264' | 'vp9' | 'vp8';
  /** What tells the time; tests move it. */
  clock?: Clock;
  /** The organization's limit: how many browsers run at once at most, those of pools included. Default: 1000. */
  maxConcurrentSessions?: number;
  /** How many days audit records are kept; 0 records nothing. Default: 90. */
  auditRetentionDays?: number;
  /** The largest request body in bytes. Default: 10 MiB for JSON, no limit for files. */
  bodyLimit?: number;
};

/** Of a service that other processes join. */
export type SharedOptions = {
  /** Registers a process as a user of the service; false when the service is about to end. */
  addUser: (pid: number) => boolean;
  /** The definition of a pool that its first user is about to ask for, unchecked. Its browsers start while the rest of the service does. */
  firstPool?: unknown;
};

/** A running service. */
export type Service = {
  readonly url: string;
  readonly apiKey: string;
  /** Ends all browsers, saves the profiles that are to be saved, and ends the service, within 10 seconds. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

const closeTimeoutMs = 10_000;
const databaseFile = 'service.db';

/**
 * Starts a browser automation service on the loopback address; `shared` is for one that other processes join. Rejects with
 * `DataDirectoryInUseError` when another service holds the data directory.
 */
export async function startService(options: ServiceOptions = {}, shared?: SharedOptions): Promise<Service> {
  const { dataDirectory, clock = systemClock } = options;
  const directory = dataDirectory ?? (await mkdtemp(join(tmpdir(), 'playwright-pool-')));
  const database = await openStore(dataDirectory);
  try {
    const isInPlace = dataDirectory === undefined ? () => true : stillInPlace(join(dataDirectory, databaseFile));
    const sessionsDirectory = join(directory, 'sessions');
    if (dataDirectory !== undefined) {
      await endOrphans(sessionsDirectory);
      await removeUnfinished(dataDirectory);
    }
    await removeTree(sessionsDirectory);
    await mkdir(sessionsDirectory, { mode: 0o700 });

    const apiKeys = new ApiKeyStore(database, clock);
    const apiKey = options.apiKey ?? (await storedKey(dataDirectory, (key) => apiKeys.isRevoked(key)));
    apiKeys.setOwn(apiKey);
    let url = '';
    const parts = await openParts({
      directory,
      sessionsDirectory,
      isKept: dataDirectory !== undefined,
      database,
      apiKeys,
      clock,
      chromium: options.chromium ?? {},
      replayFormat: options.replayFormat,
      maxConcurrentSessions: options.maxConcurrentSessions ?? 1000,
      auditRetentionDays: options.auditRetentionDays ?? 90,
      url: () => url,
    });
    if (shared) createFirstPool(parts, shared.firstPool);
    const server = await serve(parts, options, shared).catch(async (error: unknown) => {
      await everyStep(
        () => parts.endBrowsers(),
        () => parts.auditLogs.close(),
      ).catch(() => {});
      throw error;
    });

    url = server.url;
    parts.apps.resume();

    const end = () =>
      everyStep(
        () => server.stop(),
        () => parts.endBrowsers(),
        () => server.closeWebSockets(),
        () => server.drain(),
        () => parts.auditLogs.close(),
        // While nobody else can have opened the directory.
        () => isInPlace() && removeTree(dataDirectory === undefined ? directory : sessionsDirectory),
        () => closeDatabase(database, isInPlace()),
      );
    let ended: Promise<void> | undefined;
    const close = () => (ended ??= within(closeTimeoutMs, end()));
    return { url: server.url, apiKey, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    closeDatabase(database);
    if (dataDirectory === undefined) await removeTree(directory);
    throw error;
  }
}

/** Answers for the parts over HTTP. Rejects when the port is in use. */
async function serve(
  parts: Parts,
  { port = 0, bodyLimit }: ServiceOptions,
  shared: SharedOptions | undefined,
): Promise<HttpServer & { closeWebSockets: () => void }> {
  const { apiKeys, auditLogs, clock, connections, projects, replays, sessions } = parts;
  const auditor = new Auditor({ contract, trail: auditLogs, clock });
  const app = createApp({
    contract,
    handlers: operationHandlers(parts),
    callers: new Callers(apiKeys, projects),
    clock,
    auditor,
    openapi,
    pages: createPages({
      findReplay: (id, token) => replayView(replays, id, token),
      findLiveView: (token) => sessions.byLiveViewToken(token),
      findLogin: (token) => hostedLogin(connections, token, clock),
    }),
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(shared && { addUser: shared.addUser }),
  });
  const proxy = new CdpProxy({ byToken: (token) => sessions.byToken(token), clock });
  const liveViews = new LiveViewSockets({ byToken: (token) => sessions.byLiveViewToken(token), clock });
  const server = await listen({
    fetch: app.fetch,
    port,
    follow: (...exchange) => auditor.follow(...exchange),
    upgrade: (...upgrade) => liveViews.upgrade(...upgrade) || proxy.upgrade(...upgrade),
  });
  const closeWebSockets = () => {
    proxy.close();
    liveViews.close();
  };
  return { ...server, closeWebSockets };
}

/** Whoever asks for the pool is told what is wrong with it: it must not keep a service, whose other pools fill already, from starting. */
function createFirstPool({ pools, projects }: Parts, definition: unknown): void {
  const { data } = contract.browserPools.create.body.safeParse(definition);
  try {
    if (data) pools.create(projects.defaultId(), data);
  } catch (error) {
    if (!(error instanceof OperationError)) console.error('the first pool could not be created:', error);
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

/** The key in the data directory; a new one where there is none, or one that opens nothing any more. */
async function storedKey(dataDirectory: string | undefined, isRevoked: (key: string) => boolean): Promise<string> {
  if (dataDirectory === undefined) return newKey();
  const file = join(dataDirectory, 'api-key');
  const stored = existsSync(file) ? (await readFile(file, 'utf8')).trim() : '';
  if (stored !== '' && !isRevoked(stored)) return stored;
  const key = newKey();
  await writePrivateFile(file, `${key}\n`);
  return key;
}

function newKey(): string {
  return `pwp_${randomBytes(32).toString('base64url')}`;
}

function replayView(replays: Replays, id: string, token: string): ReplayView | undefined {
  const record = replays.byToken(token);
  return record?.id === id ? { ...record, error: record.failure?.message, video: () => replays.video(record) } : undefined;
}

function hostedLogin(connections: AuthConnections, token: string, clock: Clock): HostedLogin | undefined {
  const found = connections.logins.byToken(token);
  if (!found) return undefined;
  const { id, projectId, domain, profileName } = found.record;
  return {
    domain,
    profileName,
    events: (host, signal) => flowEvents(connections.logins.follow(id, signal), { host, clock }),
    submit: (submission) => connections.submit(projectId, id, submission),
  };
}

async function openapi(): Promise<unknown> {
  const { openapi } = await import('../contract/openapi.ts');
  const { version } = createRequire(import.meta.url)('playwright-pool/package.json') as { version: string };
  return openapi(contract, { title: 'playwright-pool', version });
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the service did not end within ${ms / 1000} s`)), ms);
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
