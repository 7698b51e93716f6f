import { longestPollSeconds, type browserPools } from '../../contract/browser-pools.ts';
import { requestedCategories } from '../../contract/telemetry.ts';
import { engineOf } from './pool-config.ts';
import { type Pools, acquire } from './pools.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Clock } from '../process/clock.ts';
import type { Log } from '../process/log.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import { type HandlerTree, pageOf } from '../http/handler.ts';
import { requestedLaunch } from '../sessions/launch.ts';
import { browserAnswer, handOver } from '../sessions/browser-answer.ts';

type Dependencies = { pools: Pools; sessions: Sessions; clock: Clock; log: Log; events: ServiceEvents };

/** The handlers of the pool operations: create and change pools, acquire and release their browsers. */
export function browserPoolHandlers(dependencies: Dependencies): HandlerTree<typeof browserPools> {
  const { pools, sessions, clock, log, events } = dependencies;
  return {
    create({ body, caller }) {
      const pool = pools.create(caller.projectId, body);
      log('pool_created', { pool: pool.name ?? pool.id, project: caller.projectId, size: pool.config.size });
      return pools.describe(pool);
    },

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
    async update({ params, body, caller }) {
      const pool = await pools.update(caller.projectId, params.id_or_name, body);
      log('pool_updated', { pool: pool.name ?? pool.id, project: caller.projectId, size: pool.config.size });
      return pools.describe(pool);
    },
    async delete({ params, body, caller }) {
      await pools.delete(caller.projectId, params.id_or_name, body);
      log('pool_deleted', { pool: params.id_or_name, project: caller.projectId });
    },

    async acquire({ params, body, signal, origin, caller }) {
      const pool = pools.find(caller.projectId, params.id_or_name);
      const askedAt = clock.now();
      const client = { engine: engineOf(pool), playwright: body.playwright_version };
      const launch = await requestedLaunch(body.launch_options, sessions.launcher, client);
      const terms = {
        ...(body.name && { name: body.name }),
        ...(body.tags && { tags: body.tags }),
        ...(body.start_url && { startUrl: body.start_url }),
        ...(launch && { launch }),
      };
      const timeoutMs = secondsToWait(body.acquire_timeout_seconds) * 1000;
      const session = await acquire(pool, { ...terms, timeoutMs, signal }, { clock, events });
      if (!session) return undefined;
      const categories = requestedCategories(body.telemetry, session.lease.telemetry);
      try {
        if (categories) await session.capture(categories);
      } catch (error) {
        pool.takeBack(session);
        throw error;
      }
      await handOver(session, signal, () => pool.takeBack(session));
      const lease = { session: session.id, pool: pool.name ?? pool.id, key: caller.apiKey.id };
      log('lease_started', { ...lease, waited_ms: clock.now() - askedAt });
      return browserAnswer(session, { origin, caller }, clock);
    },

    async release({ params, body, caller }) {
      const pool = pools.find(caller.projectId, params.id_or_name);
      const session = pool.release(body.session_id, body.reuse);
      log('lease_ended', { session: session.id, pool: pool.name ?? pool.id, key: caller.apiKey.id });
      await session.saved();
    },
    flush: ({ params, caller }) => pools.find(caller.projectId, params.id_or_name).flush(),
  };
}

function secondsToWait(asked = longestPollSeconds): number {
  return Math.max(0, Math.min(asked, longestPollSeconds));
}
