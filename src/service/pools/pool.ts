import { OperationError, shuttingDown } from '../../contract/errors.ts';
import type { Engine } from '../../contract/values.ts';
import type { Clock } from '../process/clock.ts';
import type { LeaseEnd, ServiceEvents } from '../process/service-events.ts';
import { AcquireQueue } from './acquire-queue.ts';
import type { Fill } from './fill.ts';
import { IdleBrowsers } from './idle-browsers.ts';
import { LaunchPause } from './launch-pause.ts';
import { LeaseNotes } from './lease-notes.ts';
import type { PoolConfig } from './pool-config.ts';
import type { LeaseTerms } from '../sessions/lease.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { waitReason, type MachineCounts } from './wait-reason.ts';

export type PoolSurroundings = {
  clock: Clock;
  sessions: Sessions;
  createSession(config: PoolConfig, signal: AbortSignal): Promise<Session>;
  fill: Fill;
  events: ServiceEvents;
  /** `undefined` if the browsers run on the service's own machine. */
  machines?: (() => MachineCounts) | undefined;
};

type Acquire = LeaseTerms & { timeoutMs: number; signal: AbortSignal };

/**
 * Keeps browsers ready and leases them. A browser has one lease at most. Leased, idle and starting browsers never exceed
 * the pool's size, except that leased browsers stay when the size shrinks. An ending browser doesn't count.
 */
export class Pool {
  readonly id: string;
  readonly projectId: string;
  /** In ms since the epoch. */
  readonly createdAt: number;
  readonly #surroundings: PoolSurroundings;
  readonly #queue: AcquireQueue;
  readonly #notes: LeaseNotes;
  readonly #leased = new Map<string, Session>();
  /** The running launches, which resolve when they have ended. */
  readonly #starting = new Map<AbortController, Promise<void>>();
  readonly #pause: LaunchPause;
  readonly #idle: IdleBrowsers;
  #config: PoolConfig;
  #usedAt = 0;
  #closed: OperationError | undefined;

  constructor(
    stored: { id: string; projectId: string; config: PoolConfig; createdAt: number },
    surroundings: PoolSurroundings,
  ) {
    this.id = stored.id;
    this.projectId = stored.projectId;
    this.createdAt = stored.createdAt;
    this.#config = stored.config;
    this.#surroundings = surroundings;
    this.#idle = new IdleBrowsers(surroundings.sessions);
    this.#queue = new AcquireQueue(surroundings.clock, () => this.#launchFailure());
    this.#notes = new LeaseNotes(this, surroundings);
    this.#pause = new LaunchPause(surroundings.clock, () => surroundings.fill.next());
  }

  get name(): string | undefined {
    return this.#config.name;
  }

  get config(): PoolConfig {
    return this.#config;
  }

  get availableCount(): number {
    return this.#idle.aliveCount;
  }

  get acquiredCount(): number {
    return [...this.#leased.values()].filter((session) => session.alive).length;
  }

  get startingCount(): number {
    return this.#starting.size;
  }

  get waitingCount(): number {
    return this.#queue.length;
  }

  /** When the oldest waiting acquire began, in ms since the epoch. */
  get oldestWait(): number | undefined {
    return this.#queue.oldest;
  }

  /** Why acquires wait; `undefined` if no acquire waits. */
  get waitReason(): string | undefined {
    if (this.#closed) return this.#closed.message;
    if (this.waitingCount === 0) return undefined;
    return waitReason({
      waiting: this.waitingCount,
      leased: this.acquiredCount,
      starting: this.startingCount,
      obstacle: this.#obstacle,
      machines: this.#surroundings.machines?.(),
    });
  }

  get occupied(): number {
    return this.#leased.size + this.#idle.length + this.#starting.size;
  }

  get inUse(): number {
    return this.#leased.size + this.#starting.size;
  }

  get lacksBrowser(): boolean {
    return !this.#closed && !this.#pause.isOn && this.occupied < this.#config.size;
  }

  get wantedCount(): number {
    if (!this.lacksBrowser) return 0;
    return Math.max(0, Math.min(this.waitingCount - this.#starting.size, this.#config.size - this.occupied));
  }

  get usedAt(): number {
    return this.#usedAt;
  }

  get waitingSince(): number {
    return this.#queue.at(this.#starting.size)?.since ?? Infinity;
  }

  /**
   * Leases a browser. Resolves to `undefined` if none is free within `timeoutMs`, or if `signal` aborts. `since`: when a
   * call began to wait that got a dead browser. If the client
   * hangs up before it gets the browser, call `takeBack`. Throws `conflict` if the name is taken, `unavailable` if
   * browsers don't start, and `not_found` if the pool is deleted.
   */
  async acquire(request: Acquire, since?: number): Promise<Session | undefined> {
    const { timeoutMs, signal, ...lease } = request;
    if (this.#closed) throw this.#closed;
    if (signal.aborted) return undefined;
    const conflict = this.#nameConflict(lease);
    if (conflict) throw conflict;
    const startedAt = this.#surroundings.clock.now();
    this.#usedAt = startedAt;
    const session = await this.#queue.wait(lease, { timeoutMs, signal, since }, (waiter) => {
      this.serve();
      if (timeoutMs <= 0) waiter.settle(this.#launchFailure());
    });
    if (session && !(await responds(session))) {
      this.takeBack(session);
      const waited = this.#surroundings.clock.now() - startedAt;
      return await this.acquire({ ...request, timeoutMs: Math.max(0, timeoutMs - waited) }, since ?? startedAt);
    }
    const isRestarted = session && (await this.#fit(session, lease.launch, signal));
    if (session && lease.startUrl && !isRestarted) await session.openStartPage(lease.startUrl);
    if (session && signal.aborted) this.takeBack(session);
    return signal.aborted ? undefined : session;
  }

  /** Takes the browser back if it can't run with the launch options of its client. */
  async #fit(session: Session, launch: LeaseTerms['launch'], signal: AbortSignal): Promise<boolean> {
    try {
      return await session.fit(launch, signal);
    } catch (error) {
      this.takeBack(session);
      if (!signal.aborted) throw error;
      return true;
    }
  }

  /** Ends the lease of a client that hung up before it got the answer. Replaces the browser, because it may be in use. */
  takeBack(session: Session): void {
    if (this.#leased.get(session.id) === session) this.#endLease(session, 'abandoned');
  }

  /**
   * Ends a lease. With `reuse` the browser is wiped, gets a new token and serves the next lease. The pool replaces it if
   * `reuse` is false, if the pool shrank, if the lease loaded a profile, if the browser's machine drains, or if another
   * pool needs the place more. Throws `not_found` if this browser isn't leased from the pool.
   */
  release(sessionId: string, reuse: boolean): Session {
    const session = this.#leased.get(sessionId);
    if (!session)
      throw new OperationError(
        'not_found',
        `the browser ${sessionId} is not leased from the pool ${this.#title}: its lease may have ended already`,
      );
    const hasPoolsProfile = session.profile === session.settings.profile;
    const hasRoom = !this.#closed && this.occupied <= this.#config.size;
    this.#endLease(session, reuse && hasPoolsProfile && session.isWorthKeeping && hasRoom ? 'reused' : 'recycled');
    return session;
  }

  #endLease(session: Session, asked: LeaseEnd): void {
    this.#leased.delete(session.id);
    const reason = asked === 'reused' && this.#surroundings.fill.owesPlace(this, session) ? 'recycled' : asked;
    this.#notes.ended(session, reason);
    if (reason === 'reused') {
      session.takeBack();
      this.#idle.addUsed(session);
    } else {
      void session.end();
    }
    this.serve();
  }

  /** Replaces all idle browsers. */
  async flush(): Promise<void> {
    const { ended } = this.#idle.end();
    this.#surroundings.fill.next();
    await ended;
  }

  /** Ends up to `count` starting or idle browsers, and returns their number. */
  giveUp(count: number): number {
    const launches = [...this.#starting.keys()].slice(0, count);
    for (const launch of launches) this.#abort(launch);
    return launches.length + this.#idle.end(count - launches.length).count;
  }

  /** Uses `config` for new browsers. Ends idle and starting ones beyond the new size, or all if `discardAllIdle`. */
  async update(config: PoolConfig, discardAllIdle: boolean): Promise<void> {
    this.#config = config;
    this.#notes.forget();
    this.#pause.end();
    for (const session of this.#leased.values()) session.lease.pool = this.#reference;
    for (const launch of [...this.#starting.keys()].toReversed()) {
      if (discardAllIdle || this.occupied > config.size) this.#abort(launch);
    }
    const excess = discardAllIdle ? Infinity : Math.max(0, this.occupied - config.size);
    const { ended } = this.#idle.end(excess);
    this.#surroundings.fill.next();
    await ended;
  }

  /**
   * Refuses acquires at once, and resolves when all browsers have ended. If browsers are leased and `force` is false,
   * throws `pool_in_use` synchronously.
   */
  delete(force: boolean): Promise<void> {
    const leased = this.acquiredCount;
    if (leased > 0 && !force) {
      const message = `${leased} of the browsers of the pool ${this.#title} are leased: release them first, or delete with force`;
      throw new OperationError('pool_in_use', message);
    }
    return this.#shut(new OperationError('not_found', `the pool ${this.#title} was deleted`));
  }

  /** Refuses acquires with the error `refusal`, and ends idle browsers. Leased browsers end with their lease. */
  drain(refusal: OperationError): void {
    this.#refuse(refusal);
    this.#idle.end();
  }

  close(): Promise<void> {
    return this.#shut(shuttingDown());
  }

  /** Takes over a browser that an earlier service process started for this pool. */
  adopt(session: Session): void {
    if (session.lease.pool) this.#leased.set(session.id, session);
    else this.#idle.add(session);
    if (session.lease.pool) session.watchIdle(session.timeoutSeconds);
    void session.ended.then(() => this.#drop(session));
  }

  /** Never rejects. */
  launch(): Promise<void> {
    const launch = new AbortController();
    const ended = this.#launch(launch);
    this.#starting.set(launch, ended);
    return ended;
  }

  spareCount(engine: Engine | undefined): number {
    if (this.waitingCount > 0) return 0;
    const mayAbort = this.#surroundings.sessions.canReplace(undefined, engine);
    return (mayAbort ? this.#starting.size : 0) + this.#idle.spare(engine).length;
  }

  async endSpare(engine: Engine | undefined): Promise<void> {
    const [starting] = this.#starting;
    if (starting && this.#surroundings.sessions.canReplace(undefined, engine)) {
      const [launch, ended] = starting;
      this.#abort(launch);
      return await ended;
    }
    const session = this.#idle.spare(engine).at(-1);
    this.#idle.remove(session);
    await session?.end().catch(() => {});
  }

  async #launch(launch: AbortController): Promise<void> {
    let session: Session | undefined;
    try {
      session = await this.#surroundings.createSession(this.#config, launch.signal);
      if (session.settings.startUrl) await session.openStartPage(session.settings.startUrl);
      if (launch.signal.aborted) return await session.end();
      this.#starting.delete(launch);
      this.#pause.end();
      this.#idle.add(session);
      this.#notes.replaced();
      void session.ended.then(() => this.#drop(session!));
    } catch (error) {
      this.#starting.delete(launch);
      if (!launch.signal.aborted && !this.#closed) this.#launchFailed(error);
    }
    this.serve();
    // Nobody waits for it any more, and it is on a machine that drains or on the service for overflow.
    if (session && this.#idle.has(session) && !session.isWorthKeeping) void session.end();
  }

  /** Hands idle browsers to waiting acquires, and launches missing ones. */
  serve(): void {
    for (let waiter = this.#queue.first; waiter && this.#idle.length > 0; waiter = this.#queue.first) {
      const conflict = this.#nameConflict(waiter.lease);
      if (conflict) {
        waiter.settle(conflict);
        continue;
      }
      const session = this.#idle.takeFor(waiter.lease.launch);
      if (!session) break;
      this.#leased.set(session.id, session);
      session.lend({ ...waiter.lease, pool: this.#reference, timeoutSeconds: this.#config.timeout_seconds });
      waiter.settle(session);
    }
    this.#surroundings.fill.next();
  }

  get #title(): string {
    return this.name ?? this.id;
  }

  get #reference(): { id: string; name?: string } {
    return { id: this.id, ...(this.name && { name: this.name }) };
  }

  #drop(session: Session): void {
    this.#idle.remove(session);
    if (this.#leased.delete(session.id)) this.#notes.ended(session, this.#endOf(session));
    this.#surroundings.fill.next();
  }

  #endOf({ endReason }: Session): LeaseEnd {
    // As if this service had given the browser back.
    if (endReason === 'client_left') return 'recycled';
    if (endReason || !this.#closed) return endReason ?? 'deleted';
    return this.#closed.code === 'not_found' ? 'pool_deleted' : 'shutdown';
  }

  #abort(launch: AbortController): void {
    this.#starting.delete(launch);
    launch.abort();
  }

  #launchFailed(error: unknown): void {
    this.#pause.begin(error);
    const failure = this.#pause.isHopeless ? this.#launchFailure() : undefined;
    if (failure) this.#queue.failAll(failure);
  }

  /** Why no browser starts although one is missing. */
  get #obstacle(): string | undefined {
    if (this.occupied >= this.#config.size) return undefined;
    if (this.#pause.isOn) return `launching browsers failed: ${this.#pause.reason}`;
    return this.#surroundings.fill.obstacle(this);
  }

  /** The error for acquires if launches fail and no leased browser can be released. */
  #launchFailure(): OperationError | undefined {
    return this.#leased.size > 0 ? undefined : this.#pause.error(this.#title);
  }

  #nameConflict({ name }: LeaseTerms): OperationError | undefined {
    return this.#surroundings.sessions.nameConflict(this.projectId, name);
  }

  #refuse(reason: OperationError): void {
    this.#closed = reason;
    this.#pause.end();
    this.#queue.failAll(reason);
    for (const launch of this.#starting.keys()) this.#abort(launch);
  }

  async #shut(reason: OperationError): Promise<void> {
    this.#refuse(reason);
    const leased = Array.from(this.#leased.values(), (session) => session.end());
    await Promise.all([this.#idle.end().ended, ...leased]);
  }
}

/** Whether the browser still runs and answers. */
async function responds(session: Session): Promise<boolean> {
  const [{ status }] = await Promise.allSettled([session.confirm()]);
  return status === 'fulfilled';
}
