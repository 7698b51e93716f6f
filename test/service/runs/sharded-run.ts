import { createClient, type Client } from '../../../src/client/index.ts';
import { randomOf } from '../../support/processes/random.ts';
import { test as base } from '../../support/service/organization.ts';

export type SuiteTest = { id: string; project: string; file: string; title: string[]; ms: number; skipped?: boolean };

/** Tests whose durations are skewed: 70 % take 0.1 s, 25 % take 1 s, and 5 % take 8 s. */
export function skewedSuite(length: number, seed = 1): SuiteTest[] {
  const random = randomOf(seed);
  return Array.from({ length }, (_, position) => {
    const of100 = random(100);
    const ms = of100 < 70 ? 100 : of100 < 95 ? 1000 : 8000;
    return suiteTest(`${String(position).padStart(5, '0')}-abcdef`, ms);
  });
}

export function suiteTest(id: string, ms = 100): SuiteTest {
  return { id, project: 'chromium', file: 'tests/shop.spec.ts', title: [`test ${id}`], ms };
}

/** A test without the time that it takes, as a shard sends it. */
function sentTest({ id, project, file, title, skipped }: SuiteTest) {
  return { id, project, file, title, ...(skipped && { skipped }) };
}

type ShardOptions = {
  client: Client;
  run: string;
  suite: SuiteTest[];
  index?: number;
  total?: number;
  workers?: number;
  attempt?: number;
  rerun?: boolean;
  /** The tests that fail. */
  failing?: string[];
};

/** A shard that simulates a Playwright process. */
export class Shard {
  readonly member: string;
  /** Its tests, once it has started. */
  tests: string[] = [];
  attempt: number | undefined;
  readonly options: Required<Omit<ShardOptions, 'attempt'>>;

  constructor({ attempt, ...options }: ShardOptions) {
    this.member = `member-${crypto.randomUUID()}`;
    this.attempt = attempt;
    this.options = { index: 1, total: 8, workers: 1, rerun: false, failing: [], ...options };
  }

  get place() {
    const { index, total, workers } = this.options;
    return { attempt: this.attempt, member: this.member, shard: { index, total }, workers };
  }

  async start({ units = this.options.suite.map((test) => [test]), preview = false } = {}) {
    const { client, run, rerun } = this.options;
    const sent = units.map((unit) => unit.map(sentTest));
    const part = await client.testRuns.plan(run, { ...this.place, units: sent, rerun, preview });
    this.tests = part.tests;
    this.attempt = part.attempt;
    return part;
  }

  /** Reports results of tests, by default of all of its part. */
  async report(tests = this.tests, { ended = false } = {}): Promise<void> {
    const { client, run, failing, suite } = this.options;
    const results = tests.map((test) => {
      const isOk = !failing.includes(test);
      const duration_ms = suite.find(({ id }) => id === test)!.ms;
      return { test, status: isOk ? ('passed' as const) : ('failed' as const), ok: isOk, duration_ms };
    });
    await client.testRuns.report(run, { member: this.member, results, ended });
  }

  /** Starts, runs all tests, and ends. */
  async complete(): Promise<string[]> {
    await this.start();
    await this.report(this.tests, { ended: true });
    return this.tests;
  }

  /** Asks for tests of other shards, as a further pass that runs them. */
  async claim({ wait = 0, absentAfter = 300 } = {}) {
    const { client, run } = this.options;
    const pass = new Shard({ ...this.options, ...(this.attempt !== undefined && { attempt: this.attempt }) });
    const asked = { ...pass.place, wait_seconds: wait, absent_after_seconds: absentAfter };
    const { state, tests } = await client.testRuns.claim(run, asked);
    pass.tests = tests.map(({ id }) => id);
    return { state, pass, tests };
  }

  /** The time that its tests take, in ms. */
  get length(): number {
    const own = new Set(this.tests);
    return this.options.suite.reduce((sum, { id, ms }) => sum + (own.has(id) ? ms : 0), 0);
  }
}

/** Makes shards of a run, and clients of other projects. */
export const test = base.extend<{
  shard: (options?: Partial<ShardOptions>) => Shard;
  suite: SuiteTest[];
  clientOf: (projectId: string) => Client;
}>({
  suite: async ({}, use) => use(skewedSuite(40)),
  shard: async ({ client, suite }, use) => use((options) => new Shard({ client, suite, run: 'nightly', ...options })),
  clientOf: async ({ service }, use) => {
    const clients: Client[] = [];
    await use((projectId) => {
      clients.push(createClient({ baseURL: service.url, apiKey: service.apiKey, projectId }));
      return clients.at(-1)!;
    });
    await Promise.all(clients.map((client) => client.close()));
  },
});

/** All shards of a run, from 1 to `total`. */
export function shardsOf(total: number, shard: (index: number) => Shard): Shard[] {
  return Array.from({ length: total }, (_, position) => shard(position + 1));
}
