import { setTimeout as sleep } from 'node:timers/promises';
import { runTag } from '../build/src/contract/lease-tags.js';
import { full } from './lease.ts';
import { ServerProcess } from './server-process.ts';
import { ServiceProcess } from './service.ts';

/** The figures of a control plane under load. Times in milliseconds, memory in MB. */
export type Load = {
  /** Durations of acquires that found an idle browser, inside the control plane. */
  acquires: number[];
  /** Times from a release until the next waiter has the browser. */
  handOffs: number[];
  memory: number;
  processorTime: number;
};

const perMachine = { sessions: 20, waiters: 50 };
const waitersPerRun = 100;
const largestPool = 1000;
/** The pool with idle browsers. All browsers of the other pools are leased. */
const idlePool = 'idle';
const atOnce = 50;
const waitSeconds = 30;
/** So that waiters, as in real runs, don't all ask again at the same time. */
const rampSeconds = 15;
const releasesPerSecond = 50;
const acquiresPerSecond = 50;

/** A control plane whose machines have sessions without browsers, and the workers of many test runs. */
export class SimulatedRuns implements AsyncDisposable {
  readonly sessions: number;
  readonly waiters: number;
  readonly #controlPlane: ServiceProcess;
  readonly #machines: ServerProcess;
  readonly #stopped = new AbortController();
  readonly #waiting: Promise<void>[] = [];
  /** Ids of leased sessions and their pools. */
  readonly #leased: { id: string; pool: string }[] = [];
  /** When each session was released that has no next lease yet. */
  readonly #releasedAt = new Map<string, number>();
  #handOffs: number[] = [];
  #failure: unknown;

  private constructor(machines: ServerProcess, controlPlane: ServiceProcess, count: number) {
    this.#machines = machines;
    this.#controlPlane = controlPlane;
    this.sessions = count * perMachine.sessions;
    this.waiters = count * perMachine.waiters;
  }

  /** Each machine has 20 sessions, and 50 waiters wait for them. */
  static async start(count: number): Promise<SimulatedRuns> {
    const { sessions } = perMachine;
    const machines = await ServerProcess.start('simulated-machines.js', String(count), String(sessions));
    const options = ['--machines', machines.url, '--max-sessions', String(count * sessions)];
    const runs = new SimulatedRuns(machines, await ServiceProcess.start(options), count);
    try {
      await runs.#lease(count);
      await runs.#queue();
    } catch (error) {
      await runs[Symbol.asyncDispose]();
      throw error;
    }
    return runs;
  }

  /** Releases browsers to waiters, and leases others, for some seconds. */
  async measure(seconds: number): Promise<Load> {
    this.#handOffs = [];
    const start = new Date().toISOString();
    const before = await this.#controlPlane.processorTime();
    await Promise.all([
      paced(releasesPerSecond, seconds, () => this.#handOff()),
      paced(acquiresPerSecond, seconds, () => this.#leaseIdle()),
    ]);
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#handOffs.length === 0) throw new Error('no released browser went to a waiter');
    const processorTime = (await this.#controlPlane.processorTime()) - before;
    const memory = await this.#controlPlane.memory('VmHWM');
    const acquires = await this.#controlPlane.answerTimes(`/browser_pools/${idlePool}/acquire`, start);
    return { acquires, handOffs: this.#handOffs, memory, processorTime };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#waiting);
    await this.#controlPlane[Symbol.asyncDispose]();
    await this.#machines[Symbol.asyncDispose]();
  }

  async #lease(machines: number): Promise<void> {
    const { browserPools } = this.#controlPlane.client;
    await browserPools.create({ name: idlePool, size: machines });
    for (let left = this.sessions - machines, number = 1; left > 0; left -= largestPool, number++) {
      const pool = `busy-${number}`;
      const size = Math.min(left, largestPool);
      await browserPools.create({ name: pool, size, timeout_seconds: 3600 });
      let leases = size;
      const lease = async () => {
        while (leases-- > 0) {
          const session = await browserPools.acquire(pool, { acquire_timeout_seconds: waitSeconds });
          if (!session) throw new Error(`the pool ${pool} did not fill in ${waitSeconds} s`);
          this.#leased.push({ id: session.session_id, pool });
        }
      };
      await Promise.all(Array.from({ length: atOnce }, lease));
    }
    await full(this.#controlPlane.client, idlePool, machines);
  }

  /** Resolves when all wait. */
  async #queue(): Promise<void> {
    const pools = [...new Set(this.#leased.map(({ pool }) => pool))];
    const pauseMs = (1000 * Math.min(rampSeconds, this.waiters / 330)) / this.waiters;
    const started = performance.now();
    for (let index = 0; index < this.waiters; index++) {
      const behind = started + index * pauseMs - performance.now();
      if (behind > 1) await sleep(behind);
      this.#waiting.push(this.#wait(pools[index % pools.length]!, `run-${Math.floor(index / waitersPerRun)}`));
    }
    await this.#allWait(pools);
  }

  async #allWait(pools: string[]): Promise<void> {
    const { browserPools } = this.#controlPlane.client;
    const signal = AbortSignal.timeout(30_000);
    const counts = async () => {
      const described = await Promise.all(pools.map((pool) => browserPools.retrieve(pool, { signal })));
      return described.reduce((sum, { waiting_count: count = 0 }) => sum + count, 0);
    };
    while ((await counts()) < this.waiters * 0.98) await sleep(100);
  }

  /** A worker that always wants another browser. */
  async #wait(pool: string, run: string): Promise<void> {
    const { signal } = this.#stopped;
    const body = { acquire_timeout_seconds: waitSeconds, tags: { [runTag]: run } };
    try {
      while (!signal.aborted) {
        const session = await this.#controlPlane.client.browserPools.acquire(pool, body, { signal });
        if (!session) continue;
        const id = session.session_id;
        const releasedAt = this.#releasedAt.get(id);
        // A new browser was not handed over: the pool gave a place to the idle pool, whose acquire waited longer.
        if (releasedAt !== undefined) this.#handOffs.push(performance.now() - releasedAt);
        this.#leased.push({ id, pool });
      }
    } catch (error) {
      if (!signal.aborted) this.#failure ??= error;
    }
  }

  /** Releases the browser that was leased first. */
  async #handOff(): Promise<void> {
    const lease = this.#leased.shift();
    if (!lease) throw new Error('all browsers are being handed over: the control plane is too slow');
    this.#releasedAt.set(lease.id, performance.now());
    await this.#controlPlane.client.browserPools.release(lease.pool, { session_id: lease.id, reuse: true });
  }

  async #leaseIdle(): Promise<void> {
    const { browserPools } = this.#controlPlane.client;
    const session = await browserPools.acquire(idlePool, { acquire_timeout_seconds: waitSeconds });
    if (!session) throw new Error('no browser was idle');
    await browserPools.release(idlePool, { session_id: session.session_id, reuse: false });
  }
}

export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)]!;
}

/** Begins `act` at a steady rate, and waits for all. */
async function paced(perSecond: number, seconds: number, act: () => Promise<void>): Promise<void> {
  const started = performance.now();
  const acts: Promise<void>[] = [];
  for (let index = 0; index < perSecond * seconds; index++) {
    const early = started + (index * 1000) / perSecond - performance.now();
    if (early > 1) await sleep(early);
    const acting = act();
    // The failure is thrown below. Until then it must not end the process.
    acting.catch(() => undefined);
    acts.push(acting);
  }
  await Promise.all(acts);
}
