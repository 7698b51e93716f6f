import { longestPollSeconds, type browserPools } from '../../contract/browser-pools.ts';
import type { Pools } from './pools.ts';
import { refuseUnsupported } from '../sessions/session-settings.ts';
import type { Clock } from '../process/clock.ts';
import type { HandlerTree } from '../http/handler.ts';
import { browserAnswer } from '../sessions/browser-answer.ts';
import { handOver } from '../sessions/hand-over.ts';
import { pageOf } from '../http/list-page.ts';

export function browserPoolHandlers({
  pools,
  clock,
}: {
  pools: Pools;
  clock: Clock;
}): HandlerTree<typeof browserPools> {
  return {
    create: ({ body, caller }) => pools.describe(pools.create(caller.projectId, body)),

    list({ query, caller }) {
      const text = query.query?.toLowerCase();
      const found = pools
        .list(caller.projectId)
        .filter(({ name }) => query.name === undefined || name === query.name)
        .filter(({ id, name }) => text === undefined || id.includes(text) || name?.toLowerCase().includes(text));
      const { items, ...page } = pageOf(found, query);
      return { items: items.map((pool) => pools.describe(pool)), ...page };
    },

    retrieve: ({ params, caller }) => pools.describe(pools.find(caller.projectId, params.id_or_name)),
    update: async ({ params, body, caller }) =>
      pools.describe(await pools.update(caller.projectId, params.id_or_name, body)),
    delete: ({ params, body, caller }) => pools.delete(caller.projectId, params.id_or_name, body),

    async acquire({ params, body, signal, origin, caller }) {
      const pool = pools.find(caller.projectId, params.id_or_name);
      refuseUnsupported({ telemetry: body.telemetry });
      const session = await pool.acquire({
        timeoutMs: Math.min(body.acquire_timeout_seconds ?? longestPollSeconds, longestPollSeconds) * 1000,
        signal,
        ...(body.name && { name: body.name }),
        ...(body.tags && { tags: body.tags }),
        ...(body.start_url && { startUrl: body.start_url }),
      });
      if (!session) return undefined;
      await handOver(session, signal, () => pool.takeBack(session));
      return browserAnswer(session, { origin, caller }, clock);
    },

    release: ({ params, body, caller }) =>
      pools.find(caller.projectId, params.id_or_name).release(body.session_id, body.reuse).saved(),
    flush: ({ params, caller }) => pools.find(caller.projectId, params.id_or_name).flush(),
  };
}
