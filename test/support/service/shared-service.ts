import { TestClock } from './clock.ts';
import { startTestService, test as base, type Call, type TestService } from './service.ts';
import { perWorker } from '../worker.ts';

type Shared = { service: TestService; clock: TestClock };

/**
 * A service for all tests of a worker, by a clock that stands still. A test gets it without pools, sessions and
 * profiles.
 */
export const test = base.extend<{ clock: TestClock; shared: Shared }>({
  shared: perWorker(async (use) => {
    const clock = new TestClock();
    await using service = await startTestService({ clock });
    await use({ service, clock });
  }),
  service: async ({ shared: { service } }, use) => {
    await use(service);
    await empty(service.call);
  },
  clock: async ({ shared }, use) => use(shared.clock),
});

/** Deletes all pools, sessions and profiles of a service. */
export async function empty(call: Call): Promise<void> {
  for (const [path, body] of [
    ['/browser_pools', { force: true }],
    ['/browsers', undefined],
    ['/profiles', undefined],
  ] as const) {
    const { body: found } = (await call('GET', path)) as { body: { id?: string; session_id?: string }[] };
    await Promise.all(found.map(({ id, session_id }) => call('DELETE', `${path}/${id ?? session_id}`, body)));
  }
}
