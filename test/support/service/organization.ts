import { expect } from '@playwright/test';
import { TestClock } from './clock.ts';
import { test as base, type Call, callerOf } from './service.ts';

type Fixtures = {
  /** The service's clock, which stands still. */
  clock: TestClock;
  /** Calls the service with another key, and in the given project. */
  callWith: (apiKey: string, projectId?: string) => Call;
};

/** A service with its organization key and a clock that stands still. */
export const test = base.extend<Fixtures>({
  clock: async ({}, use) => use(new TestClock()),
  serviceOptions: async ({ clock }, use) => use({ clock }),
  callWith: async ({ service }, use) =>
    use((apiKey, projectId) => {
      const call = callerOf({ url: service.url, apiKey });
      return (method, path, body, headers) =>
        call(method, path, body, { ...(projectId !== undefined && { 'x-kernel-project-id': projectId }), ...headers });
    }),
});

export async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

/** Expects the service to refuse each body with 400 and its field's name in `details`. */
export async function expectRefused(
  call: Call,
  method: string,
  path: string,
  bodies: { [field: string]: unknown[] },
  rest: object = {},
): Promise<void> {
  for (const [field, values] of Object.entries(bodies)) {
    for (const value of values) {
      const answer = await call(method, path, { ...rest, [field]: value });
      const what = `${method} ${path} with ${field} ${JSON.stringify(value)?.slice(0, 40)}`;
      expect(answer, what).toMatchObject({ status: 400, body: { code: 'bad_request' } });
      expect(answer.body.details, what).toEqual([{ code: 'invalid_input', message: expect.stringContaining(field) }]);
    }
  }
}

/** Expects the service to refuse each query such as `limit=0` with 400 and its parameter's name in `details`. */
export async function expectQueriesRefused(call: Call, path: string, queries: string[]): Promise<void> {
  for (const query of queries) {
    const { status, body } = await call('GET', `${path}?${query}`);
    const details = [{ message: expect.stringContaining(query.split('=')[0]!) }];
    expect({ status, details: body.details }, query).toMatchObject({ status: 400, details });
  }
}
