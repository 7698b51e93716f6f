import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { OperationError } from '../contract/errors.ts';
import { Apps } from './apps/apps.ts';
import { AuthConnections } from './auth/connections.ts';
import { Vaults } from './auth/vault.ts';
import type { ChromiumSettings } from './browsers/chromium.ts';
import { Encoder, type VideoFormat } from './browsers/encoder.ts';
import { HeldSessions } from './browsers/held-sessions.ts';
import { Pools } from './browsers/pools.ts';
import { ProfileDirectories } from './browsers/profile-directories.ts';
import { Replays } from './browsers/replays.ts';
import type { Surroundings } from './browsers/session-settings.ts';
import { Sessions } from './browsers/sessions.ts';
import { Watches } from './browsers/watches.ts';
import type { Clock } from './clock.ts';
import { everyStep } from './every-step.ts';
import { StoredCredentials } from './login-credentials.ts';
import type { ApiKeyStore } from './store/api-keys.ts';
import { AppLogStore } from './store/app-logs.ts';
import { AuditLogStore } from './store/audit-logs.ts';
import { AuthConnectionStore } from './store/auth-connections.ts';
import { CredentialProviderStore } from './store/credential-providers.ts';
import { CredentialStore } from './store/credentials.ts';
import type { Database } from './store/database.ts';
import { DeploymentStore } from './store/deployments.ts';
import { InvocationStore } from './store/invocations.ts';
import { LimitStore } from './store/limits.ts';
import { PoolStore } from './store/pools.ts';
import { ProfileStore } from './store/profiles.ts';
import { ProjectStore } from './store/projects.ts';
import { ProxyStore } from './store/proxies.ts';
import { ReplayStore } from './store/replays.ts';
import { Secrets } from './store/secrets.ts';

/** What the options of a service come to. */
export type PartOptions = {
  chromium: ChromiumSettings;
  replayFormat: VideoFormat | undefined;
  maxConcurrentSessions: number;
  auditRetentionDays: number;
  directory: string;
  sessionsDirectory: string;
  /** Whether the directory outlives the service. */
  isKept: boolean;
  database: Database;
  apiKeys: ApiKeyStore;
  clock: Clock;
  /** Where the service listens, as soon as it does. */
  url: () => string;
};

/** What a service is made of, but for HTTP. */
export type Parts = Awaited<ReturnType<typeof openParts>>;

/** Makes the parts of a service. Its pools begin to fill; throws where a file of the directory cannot be used. */
export async function openParts(options: PartOptions) {
  const { directory, sessionsDirectory, isKept, database, apiKeys, clock } = options;
  const projects = new ProjectStore(database, clock);
  const limits = new LimitStore(database, options.maxConcurrentSessions);
  const profiles = new ProfileStore(database, clock);
  const profileDirectories = await ProfileDirectories.open({
    directory: join(directory, 'profiles'),
    records: profiles,
    onSaved: (profileId) => void pools.profileSaved(profileId),
  });
  const sessions = new Sessions({
    clock,
    directory: sessionsDirectory,
    profiles: profileDirectories,
    chromium: options.chromium,
    limits,
  });
  const secrets = new Secrets(isKept ? join(directory, 'secrets-key') : undefined);
  const proxies = new ProxyStore(database, clock, secrets);
  const auditLogs = new AuditLogStore(database, clock, options.auditRetentionDays);
  const surroundingsOf = (projectId: string): Surroundings => ({
    projectId,
    hasDisplay: sessions.hasDisplay,
    resolveProfile: (selector) => profiles.resolve(projectId, selector),
    resolveProxy: (id) => proxies.access(projectId, id),
  });
  const pools: Pools = new Pools({ clock, sessions, store: new PoolStore(database), surroundingsOf });

  const encoder = new Encoder({ directory: sessionsDirectory, chromium: options.chromium, environment: process.env, clock });
  const replays = await Replays.open({
    directory: join(directory, 'replays'),
    records: new ReplayStore(database),
    encoder,
    format: options.replayFormat,
    clock,
  });

  const deployments = new DeploymentStore(database, secrets);
  const invocations = new InvocationStore(database);
  const apps = new Apps({
    directory: join(directory, 'deployments'),
    scope: createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 16),
    clock,
    deployments,
    invocations,
    logs: new AppLogStore(database),
    access: (grant) => {
      const { id, key } = apiKeys.create({ ...grant, daysToExpire: 1 });
      const end = () => {
        try {
          apiKeys.delete(id, undefined);
        } catch (error) {
          // Whoever may manage keys can have deleted it before.
          if (!(error instanceof OperationError && error.code === 'not_found')) throw error;
        }
      };
      return { baseURL: options.url(), apiKey: key, end };
    },
    endAccess: (name) => {
      const all = { limit: 100, offset: 0, sort_by: 'created_at', sort_direction: 'desc', status: 'active' } as const;
      for (const { id } of apiKeys.list({ ...all, name }, undefined).items) apiKeys.delete(id, undefined);
    },
    limitOf: (projectId) => limits.capsOf(projectId).invocations,
    endBrowsers: async (id) => {
      const ended = sessions.list().filter(({ invocationId }) => invocationId === id);
      await Promise.all(ended.map((session) => session.end()));
    },
  });
  await apps.open();

  const held = new HeldSessions(sessions, clock);
  const credentials = new CredentialStore(database, clock, secrets);
  const providers = new CredentialProviderStore(database, clock, secrets);
  const vaults = new Vaults(clock);
  const connectionRecords = new AuthConnectionStore(database);
  const connections = new AuthConnections({
    records: connectionRecords,
    credentials: new StoredCredentials({ credentials, providers, vaults, clock }),
    clock,
    sessions: held,
    replays,
    surroundingsOf,
    ensureProfile: (projectId, name) => profiles.ensure(projectId, name),
    proxyIdOf: (projectId, selector) => proxies.select(projectId, selector),
  });
  connections.open();
  // Last, so that no browser is left where something cannot be opened.
  pools.open();

  return {
    apiKeys,
    apps,
    auditLogs,
    clock,
    connectionRecords,
    connections,
    credentials,
    deployments,
    held,
    invocations,
    limits,
    pools,
    profileDirectories,
    profiles,
    projects,
    providers,
    proxies,
    replays,
    sessions,
    surroundingsOf,
    vaults,
    watches: new Watches(),
    /** Ends everything that runs. */
    endBrowsers: () =>
      everyStep(
        () => apps.close(),
        () => connections.close(),
        () => pools.close(),
        () => sessions.close(),
        () => replays.close(),
      ),
  };
}
