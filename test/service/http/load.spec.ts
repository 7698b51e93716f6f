import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectionError, createClient, ServiceError, type Client } from '../../../src/client/index.ts';
import { expectNoProcessWith, processesWith, sendSignal } from '../../support/processes/processes.ts';
import { randomOf } from '../../support/processes/random.ts';
import { dataDirectory } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { expect, test } from '../../support/worker.ts';

const durationMs = isLong ? 60_000 : 1500;
/** So much longer a busy machine may take for the wanted number of leases. */
const longestExtraMs = isLong ? 0 : 20_000;
const wantedGrants = durationMs / 100;
const workers = isLong ? 50 : 15;
const size = isLong ? 4 : 2;
/** The median from a release to the next holder, in ms; more where other tests run at the same time. */
const longestHandOffMs = isLong ? 20 : 200;
const killEveryMs = 700;
/**
 * By how much two acquires must differ, in ms, to be told apart from here: they come over connections of their own, of
 * which a caller that hung up needs a new one. More where other tests run at the same time.
 */
const simultaneousMs = isLong ? 50 : 300;

/** Times in ms, of the test's own clock. */
type Grant = { sessionId: string; sentAt: number; grantedAt: number; handOffMs: number | undefined };

/** The greatest number of workers on one pool, and the results of their acquires. */
class Load {
  readonly grants: Grant[] = [];
  readonly violations: string[] = [];
  readonly endings = { granted: 0, empty: 0, aborted: 0, refused: 0, killed: 0 };
  readonly holders = new Set<string>();
  readonly #client: Client;
  readonly #random = randomOf(50);
  /** When a browser was given back to be used again. */
  readonly #releasedAt = new Map<string, number>();
  readonly #killed = new Set<string>();

  constructor(client: Client) {
    this.#client = client;
  }

  async work(until: number): Promise<void> {
    while (this.#goesOn(until)) {
      const sessionId = await this.#acquire();
      if (sessionId === undefined) continue;
      await sleep(10 + this.#random(30));
      this.holders.delete(sessionId);
      await this.#release(sessionId);
    }
  }

  /** Kills a browser that somebody holds. */
  async kill(until: number): Promise<void> {
    while (this.#goesOn(until - killEveryMs)) {
      await sleep(killEveryMs);
      const held = [...this.holders];
      const sessionId = held[this.#random(held.length)];
      if (sessionId === undefined) continue;
      this.#killed.add(sessionId);
      this.endings.killed += 1;
      sendSignal(processesWith(`/${sessionId}/user-data`), 'SIGKILL');
    }
  }

  #goesOn(until: number): boolean {
    const { granted, aborted, killed } = this.endings;
    const isEnough = granted > wantedGrants && aborted > 0 && killed > 0;
    return performance.now() < until + (isEnough ? 0 : longestExtraMs);
  }

  async #acquire(): Promise<string | undefined> {
    const sentAt = performance.now();
    // One in ten hangs up, at any moment.
    const hangUp = this.#random(10) === 0 ? AbortSignal.timeout(this.#random(500)) : undefined;
    try {
      const options = hangUp ? { signal: hangUp } : {};
      const session = await this.#client.browserPools.acquire('load', { acquire_timeout_seconds: 5 }, options);
      if (!session) return void (this.endings.empty += 1);
      const { session_id: sessionId } = session;
      if (this.holders.has(sessionId)) this.violations.push(`${sessionId} has two holders`);
      this.holders.add(sessionId);
      this.endings.granted += 1;
      const grantedAt = performance.now();
      const releasedAt = this.#releasedAt.get(sessionId);
      const handOffMs = releasedAt === undefined ? undefined : grantedAt - releasedAt;
      this.grants.push({ sessionId, sentAt, grantedAt, handOffMs });
      return sessionId;
    } catch (error) {
      if (hangUp?.aborted) this.endings.aborted += 1;
      else if (error instanceof ServiceError || error instanceof ConnectionError) this.endings.refused += 1;
      else this.violations.push(String(error));
      return undefined;
    }
  }

  async #release(sessionId: string): Promise<void> {
    const reuse = this.#random(50) !== 0;
    if (reuse) this.#releasedAt.set(sessionId, performance.now());
    try {
      await this.#client.browserPools.release('load', { session_id: sessionId, reuse });
    } catch (error) {
      // A browser that was killed is not there to be given back.
      if (!this.#killed.has(sessionId)) this.violations.push(`release: ${String(error)}`);
    }
  }
}

/** Of those who asked clearly later than another one, how many were clearly served before it. */
function overtakings(grants: Grant[]): string[] {
  const byRequest = grants.toSorted((a, b) => a.sentAt - b.sentAt);
  const found: string[] = [];
  let earliest = Infinity;
  let later = byRequest.length - 1;
  for (const { sentAt, grantedAt } of byRequest.toReversed()) {
    for (; byRequest[later]!.sentAt > sentAt + simultaneousMs; later -= 1)
      earliest = Math.min(earliest, byRequest[later]!.grantedAt);
    if (earliest < grantedAt - simultaneousMs) {
      found.push(
        `asked at ${sentAt.toFixed()}, served at ${grantedAt.toFixed()}, a later one at ${earliest.toFixed()}`,
      );
    }
  }
  return found;
}

function quantile(values: number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN;
}

test(`${workers} workers take turns on ${size} browsers in order, while browsers are killed and callers hang up`, async ({}, testInfo) => {
  test.setTimeout(durationMs + 60_000);
  const directory = dataDirectory(testInfo);
  const apiKey = 'key-of-the-loaded-service';
  await using cli = new CliProcess(['serve', '--data-dir', directory], { env: { PLAYWRIGHT_POOL_API_KEY: apiKey } });
  const baseURL = (await cli.firstLine()).replace(/^listening on /, '');
  await using client = createClient({ baseURL, apiKey });
  await client.browserPools.create({ size, name: 'load' });
  const counts = async () => await client.browserPools.retrieve('load');
  await expect.poll(counts, { timeout: 30_000 }).toMatchObject({ available_count: size });

  // Each worker has its connection before it counts who came first.
  await Promise.all(Array.from({ length: workers }, counts));
  const load = new Load(client);
  const startedAt = performance.now();
  const until = startedAt + durationMs;
  await Promise.all([load.kill(until), ...Array.from({ length: workers }, () => load.work(until))]);
  const handOffs = load.grants.flatMap(({ handOffMs }) => handOffMs ?? []);
  const rate = (load.endings.granted * 1000) / (performance.now() - startedAt);
  const quantiles = [0.5, 0.9, 0.99].map((share) => quantile(handOffs, share).toFixed(1));
  console.log(
    `${JSON.stringify(load.endings)}, ${rate.toFixed()} leases per second, hand-offs of ${quantiles.join(', ')} ms (50, 90, 99 %)`,
  );

  expect(load.violations).toEqual([]);
  expect(overtakings(load.grants)).toEqual([]);
  expect(load.endings.granted).toBeGreaterThan(wantedGrants);
  expect(load.endings.aborted).toBeGreaterThan(0);
  expect(load.endings.killed).toBeGreaterThan(0);
  expect(quantile(handOffs, 0.5)).toBeLessThan(longestHandOffMs);
  await expect.poll(counts, { timeout: 30_000 }).toMatchObject({ available_count: size, acquired_count: 0 });
  await cli[Symbol.asyncDispose]();
  await expectNoProcessWith(directory);
});
