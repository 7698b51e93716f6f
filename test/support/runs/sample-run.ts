import type { Client } from '../../../src/client/index.ts';

type Plan = Parameters<Client['testRuns']['plan']>[1];
type Result = NonNullable<Parameters<Client['testRuns']['report']>[1]['results']>[number];

const titles = ['pays', 'signs in', 'searches', 'logs out', 'orders', 'sends'];
const link = 'http://127.0.0.1:9/replays/1';
const error = 'Error: expected <b> & "c"\u001B[0m\n    at shop.spec.ts:3';

/** A run of three shards with two tests each. No other run has its tests, so they are divided by count. */
export class SampleRun {
  readonly #client: Client;
  readonly #run: string;

  constructor(client: Client, run: string) {
    this.#client = client;
    this.#run = run;
  }

  /** Starts a shard. The shards have the tests in order. */
  async start(index: number, { name = `member-${index}`, title = 'pays', total = 3 } = {}): Promise<void> {
    const units = titles.map((own, at): Plan['units'][number] => [
      { id: this.#idOf(own), project: 'chromium', file: 'shop.spec.ts', title: ['shop', at === 0 ? title : own] },
    ]);
    const shard = { index, total };
    await this.#client.testRuns.plan(this.#run, { member: name, shard, workers: 2, units });
  }

  async report(name: string, results: (Partial<Result> & { test: string })[], ended = false): Promise<void> {
    const full = results.map(({ test, ...result }): Result => {
      return { status: 'passed', ok: true, duration_ms: 100, ...result, test: this.#idOf(test) };
    });
    await this.#client.testRuns.report(this.#run, { member: name, results: full, ended });
  }

  /** The first shard ends with a failed test. Its other one is slow. */
  async endFirst(): Promise<void> {
    const failed = {
      status: 'failed',
      ok: false,
      retries: 1,
      error,
      replay_url: link,
      trace: 'test-results/trace.zip',
    } as const;
    await this.report(
      'member-1',
      [
        { test: 'pays', ...failed },
        { test: 'signs in', duration_ms: 65_000 },
      ],
      true,
    );
  }

  /** The second shard has a flaky and a skipped test. */
  async endSecond(): Promise<void> {
    const skipped = { test: 'logs out', status: 'skipped', duration_ms: 0 } as const;
    await this.report('member-2', [{ test: 'searches', flaky: true, retries: 1 }, skipped], true);
  }

  /** The first shard takes over and passes the tests of shards that are lost or have not come. */
  async takeOver(): Promise<void> {
    const claim = { member: 'member-4', shard: { index: 1, total: 3 }, workers: 2, wait_seconds: 0 };
    const { tests } = await this.#client.testRuns.claim(this.#run, { ...claim, absent_after_seconds: 0 });
    const results = tests.map(({ title }) => ({ test: title.at(-1)! }));
    await this.report('member-4', results, true);
  }

  #idOf(title: string): string {
    return `${this.#run}-${title}`;
  }
}
