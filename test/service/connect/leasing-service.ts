import { createRequire } from 'node:module';
import { expect } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import { callerOf, test as base, type TestService } from '../../support/service/service.ts';
import { empty } from '../../support/service/shared-service.ts';
import { perWorker } from '../../support/worker.ts';

type Fixtures = {
  /** The URL of a path of the service, with its key in the query. */
  urlOf: (path: string) => string;
  createPool: (name: string, size: number) => Promise<void>;
  counts: (pool: string) => Promise<{ leased: number; waiting: number }>;
};

export const apiKey = 'recognisable-key-of-the-service';
export const headers = { authorization: `Bearer ${apiKey}` };
export const { version } = createRequire(import.meta.url)('@playwright/test/package.json') as { version: string };
/** The service's log. */
export const logged: string[] = [];
const log = (...event: unknown[]) => void logged.push(JSON.stringify(event));

/** A service for all tests of a worker. A test gets it without pools, sessions and profiles. */
export const test = base.extend<Fixtures & { shared: TestService }>({
  shared: perWorker(async (use) => {
    await using service = await startService({ apiKey, log });
    await use({ ...service, call: callerOf(service) });
  }),
  service: async ({ shared }, use) => {
    await use(shared);
    await empty(shared.call);
  },
  urlOf: async ({ service }, use) => {
    await use((path) => {
      const url = new URL(`${service.url.replace('http', 'ws')}${path}`);
      url.searchParams.set('token', apiKey);
      return url.href;
    });
  },
  createPool: async ({ call }, use) => {
    await use(async (name, size) => {
      expect((await call('POST', '/browser_pools', { name, size, headless: true })).status).toBe(201);
    });
  },
  counts: async ({ call }, use) => {
    await use(async (pool) => {
      const { body } = await call('GET', `/browser_pools/${pool}`);
      return { leased: body.acquired_count, waiting: body.waiting_count ?? 0 };
    });
  },
});
