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
import { extensionHandlers, extensionLoader } from './extensions/operations.ts';
import { fileHandlers } from './files/operations.ts';
import { invocationHandlers } from './apps/invocation-operations.ts';
import { organizationHandlers } from './organization/limit-operations.ts';
import { codeHandlers, processHandlers } from './processes/operations.ts';
import { profileHandlers } from './profiles/operations.ts';
import { projectHandlers, type Contents } from './organization/project-operations.ts';
import { proxyHandlers } from './proxies/operations.ts';
import { replayHandlers } from './replays/operations.ts';
import { testRunHandlers } from './runs/operations.ts';
import type { HandlerTree } from './http/handler.ts';
import { telemetryHandlers } from './telemetry/operations.ts';
import { logHandlers } from './files/log-operations.ts';
import { curlHandler } from './curl/operations.ts';
import type { Parts } from './parts.ts';

/** Gives each operation of the contract its handler. */
export function operationHandlers(parts: Parts): HandlerTree<typeof contract> {
  const { apps, clock, connectionRecords, pools, profiles, sessions } = parts;
  /** The resources that prevent a project's deletion while it has any of them. */
  const contents: Contents = {
    'browser sessions': (projectId) => sessions.countIn(projectId),
    'browser pools': (projectId) => pools.list(projectId).length,
    profiles: (projectId) => profiles.countOf(projectId),
    proxies: (projectId) => parts.proxies.countOf(projectId),
    extensions: (projectId) => parts.extensions.countOf(projectId),
    credentials: (projectId) => parts.credentials.countOf(projectId),
    'auth connections': (projectId) => connectionRecords.rows.count({ projectId }),
    deployments: (projectId) => parts.deployments.countOf(projectId),
    'API keys': (projectId) => parts.apiKeys.countOf(projectId),
  };
  return {
    browsers: {
      ...browserHandlers(parts, (id, projectId) => apps.invocations.refuseEnded(id, projectId)),
      awaitClient: parts.awaitedClients.await,
      logs: logHandlers(sessions),
      telemetry: telemetryHandlers(parts),
      curl: curlHandler(sessions, parts.ownPort),
      loadExtensions: extensionLoader(parts.extensions, sessions),
      fs: fileHandlers(parts),
      computer: computerHandlers(sessions),
      playwright: codeHandlers(parts),
      process: processHandlers(parts),
      replays: replayHandlers(parts),
    },
    browserPools: browserPoolHandlers(parts),
    profiles: profileHandlers({
      store: profiles,
      directories: parts.profileDirectories,
      onRenamed: async (projectId, profile, before) => {
        sessions.profileRenamed(profile);
        if (before) await pools.profileRenamed(projectId, before, profile.name);
      },
    }),
    projects: projectHandlers({ ...parts, contents }),
    organization: organizationHandlers(parts.limits, pools, sessions),
    apiKeys: apiKeyHandlers(parts),
    auditLogs: auditLogHandlers(parts.auditLogs),
    deployments: deploymentHandlers(parts),
    apps: appHandlers(parts.deployments),
    invocations: invocationHandlers(parts),
    credentials: credentialHandlers(parts.credentials, clock),
    credentialProviders: credentialProviderHandlers(parts.providers, parts.vaults),
    auth: { connections: authConnectionHandlers(parts) },
    proxies: proxyHandlers(parts.proxies, clock),
    extensions: extensionHandlers(parts),
    testRuns: testRunHandlers(parts.runs),
  };
}
