import { expect } from '@playwright/test';
import * as fc from 'fast-check';
import { browserPools } from '../../../src/contract/browser-pools.ts';
import { OperationError } from '../../../src/contract/errors.ts';
import type { Pool } from '../../../src/service/pools/pool.ts';
import { local } from '../../../src/service/sessions/in-session.ts';
import type { Session } from '../../../src/service/sessions/session.ts';
import { test, type TestPools } from '../../support/service/pools.ts';
import { projectId } from '../../support/runs/project.ts';
import { isLong } from '../../support/processes/long-form.ts';

/** Each run uses the pool in up to twice so many steps. */
const forms = [
  { runs: 1, leastSteps: 15, timeLimitMs: 40_000, tag: [] },
  {
    ...(isLong ? { runs: 300, timeLimitMs: 900_000 } : { runs: 6, timeLimitMs: 40_000 }),
    leastSteps: 30,
    tag: ['@long'],
  },
];

/** An acquire, from its call to its end. */
type Acquire = {
  order: number;
  pool: Pool;
  hangUp: AbortController;
  state: 'waiting' | 'holding' | 'over';
  session?: Session;
};

/** The model of a pool. Values that depend on Chromium's speed are checked after each step instead. */
type Model = { size: number };

/** The pool under test with its users. */
class Users {
  readonly testPools: TestPools;
  readonly acquires: Acquire[] = [];
  readonly violations: string[] = [];
  pool: Pool;

  constructor(testPools: TestPools, size: number) {
    this.testPools = testPools;
    this.pool = testPools.create({ size });
  }

  get waiting(): Acquire[] {
    return this.acquires.filter(({ state }) => state === 'waiting');
  }

  /** The users with a live browser. */
  get holding(): Acquire[] {
    return this.acquires.filter(({ state, session }) => state === 'holding' && session!.alive);
  }

  acquire(timeoutMs: number): void {
    const { pool, acquires } = this;
    const hangUp = new AbortController();
    const acquire: Acquire = { order: acquires.length, pool, hangUp, state: 'waiting' };
    acquires.push(acquire);
    const granted = pool.acquire({ timeoutMs, signal: hangUp.signal });
    granted.then(
      (session) => this.#settled(acquire, session),
      (error: unknown) => {
        acquire.state = 'over';
        const isDeleted = error instanceof OperationError && error.code === 'not_found' && acquire.pool !== this.pool;
        if (!isDeleted) this.violations.push(`acquire ${acquire.order} failed: ${String(error)}`);
      },
    );
  }

  release(acquire: Acquire, reuse: boolean): void {
    acquire.state = 'over';
    acquire.pool.release(acquire.session!.id, reuse);
  }

  /** Lets pending callbacks run, then checks the invariants. */
  async check(model: Model): Promise<void> {
    const { pools, sessions } = this.testPools;
    // An acquire waits until the traces of the browser's last lease are removed.
    await Promise.allSettled(sessions.list().map((session) => session.confirm()));
    await new Promise((resolve) => setImmediate(resolve));
    const { available_count: available, acquired_count: acquired } = pools.describe(this.pool);
    const held = this.holding.map(({ session }) => session!.id);
    expect(this.violations).toEqual([]);
    expect(new Set(held).size, 'each browser has one holder').toBe(held.length);
    expect(acquired, 'the pool counts its holders').toBe(held.length);
    const leased = sessions.list().filter(({ alive, lease }) => alive && lease.pool?.id === this.pool.id);
    expect(leased.map(({ id }) => id).sort(), 'sessions know their pool').toEqual(held.sort());
    expect(acquired + available + this.pool.startingCount, 'the pool keeps its size').toBeLessThanOrEqual(
      Math.max(model.size, acquired),
    );
    if (available > 0) expect(this.waiting, 'nobody waits beside an idle browser').toEqual([]);
  }

  /** Waits until the pool is full and every waiter waits for a leased browser. */
  async checkAtRest(model: Model): Promise<void> {
    const isAtRest = () => {
      const { available_count: available, acquired_count: acquired } = this.testPools.pools.describe(this.pool);
      if (this.waiting.length > 0) return acquired >= model.size;
      return acquired + available === Math.max(model.size, acquired);
    };
    await expect.poll(isAtRest, { timeout: 30_000, intervals: [10] }).toBe(true);
    await this.check(model);
  }

  #settled(acquire: Acquire, session: Session | undefined): void {
    const wasWaiting = acquire.state === 'waiting';
    acquire.state = session && wasWaiting ? 'holding' : 'over';
    if (!session) return;
    acquire.session = session;
    if (!wasWaiting) this.violations.push(`acquire ${acquire.order} was served after it had hung up`);
    if (!session.alive) this.violations.push(`acquire ${acquire.order} got a dead browser`);
    const waiting = this.waiting.filter(({ pool }) => pool === acquire.pool);
    // The first of them may have a browser whose traces are still being removed.
    const served = waiting.length - acquire.pool.waitingCount;
    const earlier = waiting[served];
    if (earlier && earlier.order < acquire.order)
      this.violations.push(`acquire ${acquire.order} was served before ${earlier.order}`);
  }
}

/** One step. `pick` chooses among the candidates at that time. A step without candidates does nothing. */
class Step implements fc.AsyncCommand<Model, Users> {
  readonly title: string;
  readonly act: (users: Users, model: Model) => void | Promise<void>;

  constructor(title: string, act: (users: Users, model: Model) => void | Promise<void>) {
    this.title = title;
    this.act = act;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, users: Users): Promise<void> {
    await this.act(users, model);
    await users.check(model);
  }

  toString(): string {
    return this.title;
  }
}

const pick = fc.nat({ max: 100 });
const pickAndReuse = fc.tuple(pick, fc.boolean());
const size = fc.integer({ min: 1, max: 3 });
const update = (patch: object) => browserPools.update.body.parse(patch);

/** Steps that are chosen `weight` times as often as others. Each is made from a value of `arbitrary`. */
function weighted<T>(
  weight: number,
  arbitrary: fc.Arbitrary<T>,
  step: (value: T) => [title: string, act: Step['act']],
): fc.WeightedArbitrary<Step> {
  return { weight, arbitrary: arbitrary.map((value) => new Step(...step(value))) };
}

const steps = [
  weighted(8, fc.constantFrom(0, 1000, 30_000, 30_000), (timeoutMs) => [
    `acquire within ${timeoutMs}`,
    (users) => users.acquire(timeoutMs),
  ]),
  weighted(2, pick, (index) => [`hang up ${index}`, (users) => hangUp(chosen(users.waiting, index))]),
  weighted(4, pickAndReuse, ([index, reuse]) => [
    `release ${index} ${reuse ? 'for reuse' : 'to recycle'}`,
    (users) => {
      const holder = chosen(users.holding, index);
      if (holder) users.release(holder, reuse);
    },
  ]),
  weighted(2, pickAndReuse, ([index, reuse]) => [
    `release ${index} and hang up the first who waits`,
    (users) => {
      const holder = chosen(users.holding, index);
      const [first] = users.waiting;
      if (holder) users.release(holder, reuse);
      hangUp(first);
    },
  ]),
  weighted(1, pickAndReuse, ([index, reuse]) => [
    `release what is not leased ${index}`,
    (users) => {
      const free = users.testPools.sessions.list().filter(({ lease }) => lease.pool === undefined);
      const idle = chosen(free, index);
      for (const id of ['nobody', ...(idle ? [idle.id] : [])])
        expect(() => users.pool.release(id, reuse)).toThrow(expect.objectContaining({ code: 'not_found' }));
    },
  ]),
  weighted(1, fc.constantFrom(400, 4000), (ms) => [`let ${ms} ms go by`, (users) => users.testPools.clock.advance(ms)]),
  weighted(1, fc.constant(undefined), () => ['flush', (users) => users.pool.flush()]),
  weighted(1, fc.tuple(size, fc.boolean()), ([size, discard]) => [
    `update to size ${size}${discard ? ', discarding idle ones' : ''}`,
    async (users, model) => {
      model.size = size;
      await users.testPools.pools.update(projectId, users.pool.id, update({ size, discard_all_idle: discard }));
    },
  ]),
  weighted(2, pick, (index) => [
    `kill ${index}`,
    (users) => {
      const session = chosen(living(users), index);
      if (session) process.kill(-local(session).browser.chromium.pid, 'SIGKILL');
    },
  ]),
  weighted(1, pick, (index) => [`end ${index}`, (users) => chosen(living(users), index)?.end()]),
  weighted(1, fc.tuple(fc.boolean(), size), ([force, size]) => [
    `delete ${force ? 'by force ' : ''}and create with size ${size}`,
    async (users, model) => {
      const { pools } = users.testPools;
      const deleted = users.pool;
      const deletion = pools.delete(projectId, deleted.id, { force });
      if (!force && users.holding.length > 0) {
        await expect(deletion).rejects.toMatchObject({ code: 'pool_in_use' });
        return;
      }
      users.pool = users.testPools.create({ size });
      model.size = size;
      await deletion;
      expect(users.waiting.filter(({ pool }) => pool === deleted)).toEqual([]);
    },
  ]),
  weighted(4, fc.constant(undefined), () => ['wait for rest', (users, model) => users.checkAtRest(model)]),
];

for (const { runs, leastSteps, timeLimitMs, tag } of forms) {
  const title = `a pool agrees with a model of its rules in ${runs} runs of random steps`;
  test(title, { tag }, async ({ testPools }) => {
    test.setTimeout(timeLimitMs + 60_000);
    const runOf = async (commands: Iterable<fc.AsyncCommand<Model, Users>>) => {
      const users = new Users(testPools, 2);
      const model: Model = { size: 2 };
      try {
        await users.checkAtRest(model);
        await fc.asyncModelRun(() => ({ model, real: users }), commands);
        await users.checkAtRest(model);
      } finally {
        for (const acquire of users.waiting) hangUp(acquire);
        await new Promise((resolve) => setImmediate(resolve));
        await testPools.pools.delete(projectId, users.pool.id, { force: true });
      }
      expect(users.waiting, 'every acquire comes to an end').toEqual([]);
      expect(users.violations).toEqual([]);
    };
    const length = { minLength: leastSteps, maxLength: 2 * leastSteps };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(...steps), { size: 'max', ...length }), runOf),
      // Each try takes seconds, so a failure is not reduced to a shorter one.
      { numRuns: runs, endOnFailure: true, interruptAfterTimeLimit: timeLimitMs },
    );
  });
}

function chosen<T>(from: T[], index: number): T | undefined {
  return from[index % from.length];
}

function hangUp(acquire: Acquire | undefined): void {
  if (!acquire) return;
  acquire.hangUp.abort();
  acquire.state = 'over';
}

function living(users: Users): Session[] {
  return users.testPools.sessions.list().filter(({ alive }) => alive);
}
