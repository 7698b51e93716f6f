import type { organization, OrganizationLimits } from '../../contract/organization.ts';
import { invalidField } from '../../contract/errors.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { LimitStore } from './limits.ts';
import type { Pools } from '../pools/pools.ts';
import type { Sessions } from '../sessions/sessions.ts';

/** The handlers of the operations that read and change the organization's limits. */
export function organizationHandlers(
  limits: LimitStore,
  pools: Pools,
  sessions: Sessions,
): HandlerTree<typeof organization> {
  const show = async (): Promise<OrganizationLimits> => ({
    max_concurrent_sessions: limits.maxConcurrentSessions,
    default_project_max_concurrent_sessions: limits.defaultMaxConcurrentSessions,
    ...(sessions.draining && { draining: true }),
    ...(sessions.offered && { engines: [...(await sessions.offered.read())] }),
  });
  return {
    limits: {
      retrieve: show,
      update({ body: { default_project_max_concurrent_sessions: cap } }) {
        if (cap && cap > limits.maxConcurrentSessions) {
          const problem = `must not exceed the organization's limit, ${limits.maxConcurrentSessions}`;
          throw invalidField('default_project_max_concurrent_sessions', problem);
        }
        limits.changeDefault(cap);
        pools.limitsChanged();
        return show();
      },
    },
  };
}
