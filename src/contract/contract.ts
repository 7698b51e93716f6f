import { apiKeys } from './api-keys.ts';
import { apps } from './apps.ts';
import { auditLogs } from './audit-logs.ts';
import { authConnections } from './auth-connections.ts';
import { browserPools } from './browser-pools.ts';
import { browsers } from './browsers.ts';
import { credentialProviders } from './credential-providers.ts';
import { credentials } from './credentials.ts';
import { deployments } from './deployments.ts';
import { extensions } from './extensions.ts';
import { invocations } from './invocations.ts';
import { organization } from './organization.ts';
import { profiles } from './profiles.ts';
import { projects } from './projects.ts';
import { proxies } from './proxies.ts';
import { testRuns } from './test-runs.ts';

/** The type of `contract`, written out so that declaration files refer to the operations instead of repeating them. */
export type Contract = {
  browsers: typeof browsers;
  browserPools: typeof browserPools;
  profiles: typeof profiles;
  projects: typeof projects;
  organization: typeof organization;
  apiKeys: typeof apiKeys;
  auditLogs: typeof auditLogs;
  deployments: typeof deployments;
  apps: typeof apps;
  invocations: typeof invocations;
  auth: { connections: typeof authConnections };
  credentials: typeof credentials;
  credentialProviders: typeof credentialProviders;
  proxies: typeof proxies;
  extensions: typeof extensions;
  testRuns: typeof testRuns;
};

/**
 * All operations of the service, under the names of the client's functions. Paths and payloads are those of the hosted
 * service, whose SDK (the npm package `@onkernel/sdk`) works with this service, too.
 */
export const contract: Contract = {
  browsers,
  browserPools,
  profiles,
  projects,
  organization,
  apiKeys,
  auditLogs,
  deployments,
  apps,
  invocations,
  auth: { connections: authConnections },
  credentials,
  credentialProviders,
  proxies,
  extensions,
  testRuns,
};
