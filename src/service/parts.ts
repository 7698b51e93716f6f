import { join } from 'node:path';
import { OperationError } from '../contract/errors.ts';
import { Apps } from './apps/apps.ts';
import { AwaitedClients } from './connect/awaited-clients.ts';
import { AuthConnections } from './logins/connections.ts';
import { Vaults } from './credentials/vault.ts';
import type { ChromiumSettings } from './chromium/chromium.ts';
import { Isolation } from './chromium/isolation.ts';
import { chromeStore } from './extensions/chrome-store.ts';
import { emptyClipboard } from './input/clipboard.ts';
import { ExtensionStore } from './extensions/extensions.ts';
import { Encoder } from './replays/encoder.ts';
import { Metrics } from './metrics/metrics.ts';
import { EngineLauncher } from './playwright/engine-launcher.ts';
import { OfferedEngines } from './playwright/offered-engines.ts';
import { PlaywrightHosts } from './playwright/hosts.ts';
import { installedPlaywrights } from './playwright/installed-playwright.ts';
import { PlaywrightEndpoint } from './playwright/playwright-endpoint.ts';
import { Pools, poolsTable } from './pools/pools.ts';
import { PlaywrightCode } from './processes/playwright-code.ts';
import { Processes } from './processes/processes.ts';
import { ProfileDirectories } from './profiles/profile-directories.ts';
import { recorder, Replays, replaysTable } from './replays/replays.ts';
import type { Surroundings } from './sessions/session-settings.ts';
import { LocalLauncher } from './sessions/local/local-launcher.ts';
import { Readiness } from './sessions/readiness.ts';
import type { Launcher } from './sessions/launcher.ts';
import type { Session } from './sessions/session.ts';
import { Sessions } from './sessions/sessions.ts';
import type { MachinesSettings } from './machines/control-plane.ts';
import type { Machines } from './machines/machines.ts';
import { Telemetries } from './telemetry/telemetries.ts';
import { Watches } from './files/watches.ts';
import type { Clock } from './process/clock.ts';
import type { Log } from './process/log.ts';
import { WaitingBytes } from './process/waiting-bytes.ts';
import { SocketBytes } from './process/network/socket-bytes.ts';
import { everyStep } from './process/every-step.ts';
import { ServiceEvents } from './process/service-events.ts';
import type { SystemUsers } from './process/children/system-users.ts';
import { signInsTable } from './dashboard/sign-ins.ts';
import { StoredCredentials } from './logins/login-credentials.ts';
import type { ApiKeyStore } from './organization/api-keys.ts';
import { AppLogStore } from './apps/app-logs-table.ts';
import { AuditLogStore } from './audit/audit-logs.ts';
import { ConnectionRecords } from './logins/connections-table.ts';
import { CredentialProviderStore } from './credentials/credential-providers.ts';
import { CredentialStore } from './credentials/credentials.ts';
import type { Database } from './database/database.ts';
import { Table } from './database/table.ts';
import { DeploymentRecords } from './apps/deployment-records.ts';
import { InvocationRecords } from './apps/invocation-records.ts';
import { LimitStore } from './organization/limits.ts';
import { ProfileStore } from './profiles/profiles.ts';
import { ProjectStore } from './organization/projects.ts';
import { ProxyStore } from './proxies/proxies.ts';
import { Locks } from './locks/locks.ts';
import { Runs } from './runs/runs.ts';
import { Secrets } from './database/secrets.ts';
import type { ServiceOptions } from './service-options.ts';

/** The options of a service, and the directories and stores that are open already. */
export type PartOptions = Omit<ServiceOptions, 'machines'> & {
  chromium: ChromiumSettings;
  directory: string;
  sessionsDirectory: string;
  /** The user ids for sessions and deployments. Without it, all run as the service's user. */
  users: SystemUsers | undefined;
  /** Whether the directory is kept after the service's end. */
  isKept: boolean;
  database: Database;
  apiKeys: ApiKeyStore;
  clock: Clock;
  log: Log;
  /** The machines that run the sessions of a control plane. `undefined`: sessions run here. */
  machines: MachinesSettings | undefined;
  /** The service's URL, once it listens. */
  url: () => string;
  /** The port on which it listens. */
  ownPort: () => number;
};

/** The parts of a service, without its HTTP server. */
export type Parts = Awaited<ReturnType<typeof openParts>>;

/**
 * Creates the parts of a service, and starts to fill its pools. Throws if a file of the data directory can't be used.
 */
export async function openParts(options: PartOptions) {
  const { directory, sessionsDirectory, isKept, database, apiKeys, clock, log } = options;
  const projects = new ProjectStore(database, clock);
  const limits = new LimitStore(database, options.maxConcurrentSessions ?? 1000);
  const profiles = new ProfileStore(database, clock);
  // A control plane saves profiles of sessions that it takes over. Its pools learn of that when they are open.
  const savedEarly = new Set<string>();
  let profileSaved = (profileId: string): void => void savedEarly.add(profileId);
  const profileDirectories = await ProfileDirectories.open({
    directory: join(directory, 'profiles'),
    records: profiles,
    onSaved: (profileId) => profileSaved(profileId),
  });
  const extensions = await ExtensionStore.open(join(directory, 'extensions'), database, clock);
  const isolation = new Isolation(options.users, sessionsDirectory);
  // A Playwright host (the process that serves `playwright_ws_url`) sends requests of its own. They would get around
  // the proxy that keeps Chromium from this machine's addresses.
  const playwrights = options.chromium.blockLoopback ? [] : installedPlaywrights(options.playwrightCores ?? []);
  const secrets = new Secrets(isKept ? join(directory, 'secrets-key') : undefined);
  const machines =
    options.machines &&
    (await controlPlaneOf(options.machines, { ...options, secrets, extensions, profiles: profileDirectories }));
  const telemetries = new Telemetries(clock);
  const waitingBytes = new WaitingBytes();
  const home = {
    waitingBytes,
    clock,
    isolation,
    directory: sessionsDirectory,
    profiles: profileDirectories,
    extensions,
    chromium: options.chromium,
    environment: process.env,
  };
  const engines = { ...home, playwrights, firefox: options.firefox };
  const offered = new OfferedEngines(engines);
  const launcher: Launcher<Session> =
    machines ??
    new EngineLauncher(
      new LocalLauncher({
        ...home,
        capture: (session, categories) => telemetries.capture(session, categories),
        emptyClipboard,
        playwrightVersions: playwrights.map(({ version }) => version),
        videoVersions: () => offered.videoVersions(),
        downloadQuota: options.downloadQuota ?? 4 * 1024 ** 3,
      }),
      { ...engines, offered },
    );
  const sessions = new Sessions(launcher, limits, log);
  const readiness = new Readiness({ sessions, clock, probe: (signal) => launcher.probe(signal) });
  const proxies = new ProxyStore(database, clock, secrets);
  const surroundingsOf = (projectId: string): Surroundings => ({
    projectId,
    hasDisplay: launcher.hasDisplay,
    ...(machines && { noDisplay: machines.noDisplay }),
    resolveProfile: (selector) => profiles.resolve(projectId, selector),
    resolveProxy: (id) => proxies.access(projectId, id),
    resolveExtension: (selector) => extensions.resolve(projectId, selector),
  });
  const events = new ServiceEvents();
  const pools: Pools = new Pools({
    clock,
    sessions,
    records: new Table(database, poolsTable),
    surroundingsOf,
    events,
    ...(machines && { machines: () => machines.counts }),
  });

  const tunnelBytes = new SocketBytes();
  const playwrightEndpoint = new PlaywrightEndpoint({
    find: (token) => sessions.byToken(token),
    installed: playwrights,
    hosts: new PlaywrightHosts({ isolation, environment: process.env, clock }),
    clock,
    events,
    tunnelBytes,
  });

  const metrics = new Metrics(events, {
    pools,
    sessions,
    projectName: (id) => projects.nameOf(id),
    tunnelBytes: () => tunnelBytes.total,
    machines: () => machines?.all() ?? [],
    clock,
  });

  const encoder = new Encoder({
    directory: sessionsDirectory,
    chromium: options.chromium,
    isolation,
    environment: process.env,
    clock,
  });
  const replays = await Replays.open({
    directory: join(directory, 'replays'),
    records: new Table(database, replaysTable),
    record: machines?.record.bind(machines) ?? recorder({ encoder, format: options.replayFormat, clock }),
    clock,
  });

  const processes = new Processes({ directory: sessionsDirectory, clock });
  const playwrightCode = new PlaywrightCode({ processes, installed: playwrights, isolation, clock });
  const deployments = new DeploymentRecords(database, secrets);
  const invocations = new InvocationRecords(database);
  const apps = new Apps({
    directory: join(directory, 'deployments'),
    clock,
    isolation,
    deployments,
    invocations,
    logs: new AppLogStore(database),
    access: (grant) => {
      const { id, key } = apiKeys.createForApp(grant);
      const end = () => {
        try {
          apiKeys.delete(id, undefined);
        } catch (error) {
          // A caller with a key of the project may have deleted it already.
          if (!(error instanceof OperationError && error.code === 'not_found')) throw error;
        }
      };
      return { baseURL: options.url(), apiKey: key, end };
    },
    endAccess: (name) => apiKeys.deleteOfApp(name),
    limitOf: (projectId) => limits.capsOf(projectId).invocations,
    endBrowsers: async (id) => {
      const ended = sessions.list().filter(({ invocationId }) => invocationId === id);
      await Promise.all(ended.map((session) => session.end()));
    },
  });
  await apps.open();

  const credentials = new CredentialStore(database, clock, secrets);
  const providers = new CredentialProviderStore(database, clock, secrets);
  const vaults = new Vaults(clock);
  const connectionRecords = new ConnectionRecords(database);
  const connections = new AuthConnections({
    records: connectionRecords,
    credentials: new StoredCredentials({ credentials, providers, vaults, clock }),
    clock,
    sessions,
    replays,
    surroundingsOf,
    ensureProfile: (projectId, name) => profiles.ensure(projectId, name),
    proxyIdOf: (projectId, selector) => proxies.select(projectId, selector),
  });
  connections.open();
  for (const session of machines?.adopted ?? []) {
    sessions.adopt(session);
    // It may have ended while the parts above were opened.
    if (!session.alive) continue;
    if (session.settings.poolId !== undefined) pools.adopt(session);
    else session.watchIdle(session.timeoutSeconds);
  }
  // Last, so that a failure of the steps above leaves neither a browser nor a timer that uses the database.
  const auditLogs = new AuditLogStore(database, clock, {
    retentionDays: options.auditRetentionDays ?? 90,
    largestMiB: options.auditMaxMiB ?? 1024,
  });
  const locks = new Locks(database, clock);
  pools.open();
  profileSaved = (profileId) => void pools.profileSaved(profileId);
  savedEarly.forEach(profileSaved);

  return {
    apiKeys,
    apps,
    auditLogs,
    awaitedClients: new AwaitedClients({ sessions, clock }),
    clock,
    connectionRecords,
    connections,
    credentials,
    deployments,
    events,
    extensions,
    chromeStore: options.chromeStore ?? chromeStore,
    invocations,
    limits,
    locks,
    log,
    machines,
    metrics,
    ownPort: options.ownPort,
    playwrightEndpoint,
    pools,
    playwrightCode,
    processes,
    profileDirectories,
    profiles,
    projects,
    providers,
    proxies,
    readiness,
    replays,
    runs: new Runs(database, clock),
    sessions,
    signIns: new Table(database, signInsTable),
    surroundingsOf,
    telemetries,
    tunnelBytes,
    vaults,
    waitingBytes,
    watches: new Watches(),
    /**
     * Refuses new sessions and invocations, and ends browsers that nobody uses. Resolves when sessions and invocations
     * have ended.
     */
    drain: async () => {
      const refusal = new OperationError(
        'draining',
        'the service is about to end and starts no more sessions: use another service, or wait until this one runs again',
      );
      if (machines && isKept) {
        await apps.invocations.drain(refusal);
        // Let the sessions run: the next control plane takes them over. Waiting acquires repeat their calls there.
        machines.detach();
        return pools.drain(refusal);
      }
      pools.drain(refusal);
      await Promise.all([sessions.drain(refusal), apps.invocations.drain(refusal)]);
    },
    /** Ends everything that runs. */
    endBrowsers: () =>
      everyStep(
        () => isKept && machines?.detach(),
        () => locks.close(),
        () => readiness.close(),
        () => apps.close(),
        () => connections.close(),
        () => pools.close(),
        () => sessions.close(),
        () => playwrightCode.close(),
        () => replays.close(),
        () => encoder.close(),
        () => playwrightEndpoint.close(),
        () => isolation.close(),
        () => machines?.close(),
      ),
  };
}

/** Loads the room of machines on first use, so that other services start faster. */
async function controlPlaneOf(
  settings: MachinesSettings,
  dependencies: PartOptions & { secrets: Secrets; profiles: ProfileDirectories; extensions: ExtensionStore },
): Promise<Machines> {
  const { openMachines } = await import('./machines/control-plane.ts');
  return await openMachines(settings, dependencies);
}
