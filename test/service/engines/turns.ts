import { setTimeout as sleep } from 'node:timers/promises';
import type { TestService } from '../../support/service/service.ts';

type Pool = {
  available_count: number;
  acquired_count: number;
  waiting_count?: number;
  wait_reason?: string;
  browser_pool_config: { engine?: string };
};
type Session = { session_id: string; engine?: string };

/**
 * Watches how a service divides its places among pools of several engines. The returned function ends that, and returns the
 * most browsers of other engines that started while calls for one engine waited and had no place.
 */
export function watchTurns(call: TestService['call']): () => Promise<number> {
  const known = new Set<string>();
  const passedOver = new Map<string, number>();
  let most = 0;
  const end = new AbortController();
  const look = async () => {
    const [pools, sessions] = await Promise.all([call('GET', '/browser_pools'), call('GET', '/browsers')]);
    const started = (sessions.body as Session[]).filter(({ session_id }) => !known.has(session_id));
    for (const { session_id } of started) known.add(session_id);
    for (const pool of pools.body as Pool[]) {
      const { engine = 'chromium' } = pool.browser_pool_config;
      const starting = Number(/(\d+) starting/.exec(pool.wait_reason ?? '')?.[1] ?? 0);
      const places = pool.available_count + pool.acquired_count + starting;
      const others = started.filter((session) => (session.engine ?? 'chromium') !== engine).length;
      const isWaiting = (pool.waiting_count ?? 0) > 0 && places === 0;
      passedOver.set(engine, isWaiting ? (passedOver.get(engine) ?? 0) + others : 0);
      most = Math.max(most, passedOver.get(engine)!);
    }
  };
  const watching = (async () => {
    while (!end.signal.aborted) {
      await look();
      // Between two looks, so that the service has time for the browsers.
      await sleep(50);
    }
  })();
  return async () => {
    end.abort();
    await watching;
    return most;
  };
}
