import type { contract } from '../contract/contract.ts';
import { apiKeyHandlers } from './organization/api-key-operations.ts';
import { appHandlers } from './apps/app-operations.ts';
import { auditLogHandlers } from './audit/operations.ts';
import { authConnectionHandlers } from './logins/operations.ts';
import { browserPoolHandlers } from './pools/operations.ts';
import { browserHandlers } from './sessions/operations.ts';
import { computerHandlers } from './input/operations.ts';
import { credentialProviderHandlers } from './credentials/provider-operations.ts';
import { credentialHandlers } from './credentials/credential-operations.ts';
import { deploymentHandlers } from './apps/deployment-operations.ts';
import { extensionLoader } from './extensions/load.ts';
import { extensionHandlers } from './extensions/operations.ts';
import { fileHandlers } from './files/operations.ts';
import { invocationHandlers } from './apps/invocation-operations.ts';
import { organizationHandlers } from './organization/limit-operations.ts';
import { codeHandlers, processHandlers } from './processes/operations.ts';
import { profileHandlers } from './profiles/operations.ts';
import { projectHandlers, type Contents } from './organization/project-operations.ts';
import { proxyHandlers } from './proxies/operations.ts';
import { replayHandlers } from './replays/operations.ts';
import type { HandlerTree } from './http/handler.ts';
import { telemetryHandlers } from './telemetry/operations.ts';
import { logHandlers } from './files/log-operations.ts';
import { curlHandler } from './curl/operations.ts';
import type { Parts } from './parts.ts';

/** Gives each operation of the contract its handler, and each handler the parts of the service that it needs. */
export function operationHandlers(parts: Parts): HandlerTree<typeof contract> {
  const {
    apiKeys,
    apps,
    auditLogs,
    chromeStore,
    clock,
    connectionRecords,
    connections,
    credentials,
    deployments,
    events,
    extensions,
    invocations,
    limits,
    log,
  } = parts;
  const {
    pools,
    playwrightCode,
    processes,
    profileDirectories,
    profiles,
    projects,
    providers,
    proxies,
    replays,
    sessions,
    surroundingsOf,
    vaults,
    watches,
  } = parts;
  /** The resources that prevent a project's deletion while it has any of them. */
  const contents: Contents = {
    'browser sessions': (projectId) => sessions.countIn(projectId),
    'browser pools': (projectId) => pools.list(projectId).length,
    profiles: (projectId) => profiles.countOf(projectId),
    proxies: (projectId) => proxies.countOf(projectId),
    extensions: (projectId) => extensions.countOf(projectId),
    credentials: (projectId) => credentials.countOf(projectId),
    'auth connections': (projectId) => connectionRecords.countOf(projectId),
    deployments: (projectId) => deployments.countOf(projectId),
    'API keys': (projectId) => apiKeys.countOf(projectId),
  };
  return {
    browsers: {
      ...browserHandlers({
        sessions,
        surroundingsOf,
        refuseEndedInvocation: (id, projectId) => apps.invocations.refuseEnded(id, projectId),
        clock,
      }),
      logs: logHandlers(sessions),
      telemetry: telemetryHandlers({ sessions, telemetries: parts.telemetries, clock }),
      curl: curlHandler(sessions, parts.ownPort),
      loadExtensions: extensionLoader(extensions, sessions),
      fs: fileHandlers({ sessions, watches }),
      computer: computerHandlers(sessions),
      playwright: codeHandlers({ sessions, code: playwrightCode }),
      process: processHandlers({ sessions, processes }),
      replays: replayHandlers({ sessions, replays, clock }),
    },
    browserPools: browserPoolHandlers({ pools, clock, log, events }),
    profiles: profileHandlers({
      store: profiles,
      directories: profileDirectories,
      onRenamed: async (projectId, profile, before) => {
        sessions.profileRenamed(profile);
        if (before) await pools.profileRenamed(projectId, before, profile.name);
      },
    }),
    projects: projectHandlers({ projects, limits, contents, limitsChanged: () => pools.limitsChanged() }),
    organization: organizationHandlers(limits, {
      limitsChanged: () => pools.limitsChanged(),
      isDraining: () => sessions.draining !== undefined,
    }),
    apiKeys: apiKeyHandlers({ apiKeys, projects }),
    auditLogs: auditLogHandlers(auditLogs),
    deployments: deploymentHandlers({ apps, records: deployments, projects, clock }),
    apps: appHandlers(deployments),
    invocations: invocationHandlers({ apps, records: invocations, sessions, clock }),
    credentials: credentialHandlers(credentials, clock),
    credentialProviders: credentialProviderHandlers(providers, vaults),
    auth: { connections: authConnectionHandlers({ connections, records: connectionRecords, clock }) },
    proxies: proxyHandlers(proxies, clock),
    extensions: extensionHandlers({
      store: extensions,
      chromeStore,
      refuseInactive: (projectId) => projects.refuseInactive(projectId),
    }),
  };
}
