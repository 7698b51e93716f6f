import type { contract } from '../contract/contract.ts';
import { apiKeyHandlers } from './handlers/api-keys.ts';
import { appHandlers } from './handlers/apps.ts';
import { auditLogHandlers } from './handlers/audit-logs.ts';
import { authConnectionHandlers } from './handlers/auth-connections.ts';
import { browserPoolHandlers } from './handlers/browser-pools.ts';
import { browserHandlers } from './handlers/browsers.ts';
import { computerHandlers } from './handlers/computer.ts';
import { credentialProviderHandlers } from './handlers/credential-providers.ts';
import { credentialHandlers } from './handlers/credentials.ts';
import { deploymentHandlers } from './handlers/deployments.ts';
import { fileHandlers } from './handlers/files.ts';
import { invocationHandlers } from './handlers/invocations.ts';
import { organizationHandlers } from './handlers/organization.ts';
import { profileHandlers } from './handlers/profiles.ts';
import { projectHandlers, type Contents } from './handlers/projects.ts';
import { proxyHandlers } from './handlers/proxies.ts';
import { replayHandlers } from './handlers/replays.ts';
import type { HandlerTree } from './http/handler.ts';
import type { Parts } from './parts.ts';

/** What answers each operation of the contract. */
export function operationHandlers(parts: Parts): HandlerTree<typeof contract> {
  const { apiKeys, apps, auditLogs, clock, connectionRecords, connections, credentials, deployments, held, invocations, limits } = parts;
  const { pools, profileDirectories, profiles, projects, providers, proxies, replays, sessions, surroundingsOf, vaults, watches } = parts;
  /** What keeps a project from being deleted. */
  const contents: Contents = {
    'browser sessions': (projectId) => sessions.countIn(projectId),
    'browser pools': (projectId) => pools.list(projectId).length,
    profiles: (projectId) => profiles.countOf(projectId),
    proxies: (projectId) => proxies.countOf(projectId),
    credentials: (projectId) => credentials.countOf(projectId),
    'auth connections': (projectId) => connectionRecords.countOf(projectId),
    deployments: (projectId) => deployments.countOf(projectId),
    'API keys': (projectId) => apiKeys.countOf(projectId),
  };
  return {
    browsers: {
      ...browserHandlers({ sessions: held, surroundingsOf, invocations: apps.invocations, clock }),
      fs: fileHandlers({ sessions: held, watches }),
      computer: computerHandlers(held),
      replays: replayHandlers({ sessions: held, replays }),
    },
    browserPools: browserPoolHandlers({ pools, clock }),
    profiles: profileHandlers({ store: profiles, directories: profileDirectories, pools, sessions }),
    projects: projectHandlers({ projects, limits, contents, limitsChanged: () => pools.limitsChanged() }),
    organization: organizationHandlers(limits, () => pools.limitsChanged()),
    apiKeys: apiKeyHandlers({ apiKeys, projects }),
    auditLogs: auditLogHandlers(auditLogs),
    deployments: deploymentHandlers({ apps, store: deployments, projects, clock }),
    apps: appHandlers(deployments),
    invocations: invocationHandlers({ apps, store: invocations, sessions: held, clock }),
    credentials: credentialHandlers(credentials, clock),
    credentialProviders: credentialProviderHandlers(providers, vaults),
    auth: { connections: authConnectionHandlers({ connections, store: connectionRecords, clock }) },
    proxies: proxyHandlers(proxies, clock),
  };
}
