import { createClient, type Client } from '../../src/client/index.ts';
import { collect } from '../support/service/apps.ts';
import { expectNoProcessWith } from '../support/processes/processes.ts';
import { startAnyService } from '../support/service/machines.ts';
import { callerOf, type TestService } from '../support/service/service.ts';
import { shellIn, type Shell } from '../support/service/session-processes.ts';
import { perWorker, test as base } from '../support/worker.ts';

type Fixtures = {
  /** A shell in the session of all tests of a worker. */
  shell: Shell;
  /** A shell in a new session. */
  newShell: Shell;
  /** Ends all pools and sessions of a test. */
  ended: void;
};

type Shared = {
  /** The data directory of the service. */
  data: string;
  service: TestService;
  client: Client;
  /** The session of all tests of a worker. They don't end it, and leave nothing in it that changes other tests. */
  session: Session;
};

type Session = Awaited<ReturnType<Client['browsers']['create']>>;

const shared = 'shared';

/** One service for all tests of a worker. */
export const test = base.extend<Fixtures & Shared & { shared: Shared }>({
  shared: perWorker(async (use, worker) => {
    const data = worker.outputPath('data-of-abuse');
    {
      await using service = await startAnyService({ dataDirectory: data });
      await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
      const session = await client.browsers.create({ name: shared, timeout_seconds: 3600 });
      await use({ data, service: { ...service, call: callerOf(service) }, client, session });
    }
    await expectNoProcessWith(data);
  }),
  data: async ({ shared }, use) => use(shared.data),
  service: async ({ shared }, use) => use(shared.service),
  client: async ({ shared }, use) => use(shared.client),
  session: async ({ shared }, use) => use(shared.session),
  ended: [
    async ({ client }, use) => {
      await use();
      for (const { id } of await collect(client.browserPools.list()))
        await client.browserPools.delete(id, { force: true });
      for (const { session_id, name } of await collect(client.browsers.list()))
        if (name !== shared) await client.browsers.deleteByID(session_id);
    },
    { auto: true },
  ],
  shell: async ({ client, session }, use) => use(shellIn(client, session.session_id)),
  newShell: async ({ client }, use) => use(shellIn(client, (await client.browsers.create()).session_id)),
});
