import { expect, type Browser } from '@playwright/test';
import { empty } from '../../support/service/shared-service.ts';
import { startTestService, test as base, type TestService } from '../../support/service/service.ts';
import { perWorker } from '../../support/worker.ts';
import { firefoxHere } from './firefox-here.ts';

type Fixtures = {
  shared: TestService;
  /** Leases a Firefox from a pool. */
  lease: (query?: string) => Promise<Browser>;
  /** The leased or idle session of the pool `ci`. */
  session: () => Promise<{ session_id: string; browser_live_view_url: string }>;
};

export const here = firefoxHere!;

export const test = base.extend<Fixtures>({
  shared: perWorker(async (use) => {
    await using service = await startTestService({ firefox: here.executable, playwrightCores: [here.core] });
    await use(service);
  }),
  service: async ({ shared }, use) => {
    await use(shared);
    await empty(shared.call);
  },
  lease: async ({ service }, use) => {
    await use((query = 'pool=ci') => here.client.connect(urlOf(service, query), { headers: headersOf(service) }));
  },
  session: async ({ call }, use) => {
    await use(async () => (await call('GET', '/browsers')).body[0]);
  },
});

export type Place = { url: string; apiKey: string };

export function urlOf({ url }: Place, query: string): string {
  return `${url.replace('http', 'ws')}/playwright?${query}`;
}

export function headersOf({ apiKey }: Place): { authorization: string } {
  return { authorization: `Bearer ${apiKey}` };
}

export async function createPool(call: TestService['call']): Promise<void> {
  expect((await call('POST', '/browser_pools', { name: 'ci', size: 1, engine: 'firefox' })).status).toBe(201);
}
