import { OperationError } from '../../contract/errors.ts';

const MiB = 1024 * 1024;

/**
 * The most bytes that may wait in the service's memory, for one session, one project and all projects. A session has
 * room for the 64 MiB that may wait for one CDP client, and for more calls. All projects have less than half of 1 GB,
 * because V8 frees buffers late and the service itself takes about 150 MB.
 */
export const mostWaiting: Limits = { session: 128 * MiB, project: 256 * MiB, service: 448 * MiB };

/**
 * The first bytes of each call or client don't count. So small calls go on working although a budget is used up. A
 * connection takes about as much memory.
 */
export const uncounted = 64 * 1024;

type Level = 'session' | 'project' | 'service';
type Limits = Readonly<Record<Level, number>>;

/** The answer to a call whose bytes exceed a budget. */
export class OverBudget extends OperationError {
  /** The reason for the close of a WebSocket, which has room for 123 bytes. */
  readonly closeReason: string;

  constructor(level: Level, most: number, used: number) {
    const whose = { session: 'of this browser session', project: 'of this project', service: 'of all projects' }[level];
    const message =
      `the ${level} budget of waiting bytes is used up: at most ${most / MiB} MiB ${whose} may wait in the service. ` +
      'Read the answers of earlier calls, or send and ask for less at once';
    super('rate_limited', message, { limit: { most, left: Math.max(0, most - used) } });
    this.closeReason = `the ${level} budget of waiting bytes is used up (${most / MiB} MiB): read faster, or ask for less`;
  }
}

/** The budgets of bytes that wait in memory: program output, uploads, CDP messages, unread answers. */
export class WaitingBytes {
  readonly #limits: Limits;
  readonly #service: Budget;

  constructor(limits: Limits = mostWaiting) {
    this.#limits = limits;
    this.#service = new Budget('service', limits.service);
  }

  /** The counted bytes of all projects. */
  get total(): number {
    return this.#service.used;
  }

  /** Begins to count for a call or client. Without a session, its bytes count for the project. Call `end` later. */
  claim({ projectId, sessionId = '' }: { projectId: string; sessionId?: string | undefined }): Claim {
    const project = this.#service.part(projectId, () => new Budget('project', this.#limits.project, this.#service));
    // Calls without a session have the project's limit, but are compared with sessions when one is refused.
    const limit = sessionId === '' ? Infinity : this.#limits.session;
    return new Claim(project.part(sessionId, () => new Budget('session', limit, project)));
  }
}

/** The waiting bytes of one call or client. */
export class Claim {
  /**
   * Called if the bytes of another call exceed a budget, and this is the newest call of the part that has the most. It
   * must drop the bytes. Without this function the claim keeps its bytes.
   */
  onRefused: ((error: OverBudget) => void) | undefined;
  readonly #budget: Budget;
  #onEnd = () => {};
  #held = 0;
  /** Bytes of messages that count for the project only. */
  #messages = 0;
  #isEnded = false;

  constructor(budget: Budget) {
    this.#budget = budget;
    budget.claims.add(this);
  }

  /** Called once when the claim ends; at once if it has ended. */
  set onEnd(callback: () => void) {
    if (this.#isEnded) callback();
    else this.#onEnd = callback;
  }

  /** Whether none of its bytes count. */
  get isUncounted(): boolean {
    return this.#held <= uncounted;
  }

  /** Whether no budget would be exceeded. */
  fits(bytes: number): boolean {
    return this.#exceeded(this.#growth(bytes), false) === undefined;
  }

  /**
   * Counts bytes before they are kept. Throws `OverBudget` if a budget is used up and no newer call can be refused.
   * `isOneMessage`: all counted bytes of this claim are one message. It can't be split, and counts for the project only.
   */
  take(bytes: number, { isOneMessage = false }: { isOneMessage?: boolean } = {}): void {
    const growth = this.#growth(bytes);
    for (let full = this.#exceeded(growth, isOneMessage); full; full = this.#exceeded(growth, isOneMessage)) {
      const error = new OverBudget(full.level, full.most, full.used);
      const newest = full.newestOfLargest(this);
      if (newest === undefined || newest === this) throw error;
      newest.#refuse(error);
    }
    this.add(bytes);
    if (isOneMessage) this.#leaveOut(growth);
  }

  /** Counts bytes that are in memory already. */
  add(bytes: number): void {
    if (this.#isEnded) return;
    const growth = this.#growth(bytes);
    this.#held += bytes;
    this.#budget.add(growth);
  }

  /** Call when bytes have left or were dropped. */
  release(bytes: number): void {
    if (this.#isEnded) return;
    this.#leaveOut(-Math.min(bytes, this.#messages));
    this.add(-Math.min(bytes, this.#held));
  }

  /** Releases all bytes. Later calls count nothing. */
  end(): void {
    if (this.#isEnded) return;
    this.release(this.#held);
    this.#isEnded = true;
    this.#budget.leave(this);
    this.#onEnd();
  }

  #refuse(error: OverBudget): void {
    const tell = this.onRefused;
    this.onRefused = undefined;
    this.release(this.#held);
    tell?.(error);
  }

  #leaveOut(bytes: number): void {
    this.#messages += bytes;
    this.#budget.messages += bytes;
  }

  #growth(bytes: number): number {
    return Math.max(0, this.#held + bytes - uncounted) - Math.max(0, this.#held - uncounted);
  }

  #exceeded(growth: number, isOneMessage: boolean): Budget | undefined {
    return growth > 0 ? this.#budget.exceededBy(growth, isOneMessage) : undefined;
  }
}

class Budget {
  readonly level: Level;
  readonly most: number;
  readonly claims = new Set<Claim>();
  used = 0;
  /** Bytes that count for the whole only. */
  messages = 0;
  readonly #whole: Budget | undefined;
  readonly #parts = new Map<string, Budget>();

  constructor(level: Level, most: number, whole?: Budget) {
    this.level = level;
    this.most = most;
    this.#whole = whole;
  }

  part(key: string, create: () => Budget): Budget {
    const part = this.#parts.get(key) ?? create();
    this.#parts.set(key, part);
    return part;
  }

  /** Forgets a claim, and the budgets that have no other. */
  leave(claim: Claim): void {
    this.claims.delete(claim);
    for (const [part, whole] of this.#above()) if (part.#isUnused) whole.#forget(part);
  }

  add(bytes: number): void {
    this.used += bytes;
    this.#whole?.add(bytes);
  }

  exceededBy(bytes: number, isOneMessage: boolean): Budget | undefined {
    if (!isOneMessage && this.used - this.messages + bytes > this.most) return this;
    return this.#whole?.exceededBy(bytes, false);
  }

  /** The newest claim that is `asking` or can be refused, in the part with the most bytes that has one. */
  newestOfLargest(asking: Claim): Claim | undefined {
    if (this.#parts.size === 0) return [...this.claims].findLast((claim) => claim === asking || claim.onRefused);
    for (const part of [...this.#parts.values()].toSorted((one, other) => other.used - one.used)) {
      const newest = part.newestOfLargest(asking);
      if (newest) return newest;
    }
    return undefined;
  }

  get #isUnused(): boolean {
    return this.claims.size === 0 && this.#parts.size === 0;
  }

  #forget(part: Budget): void {
    for (const [key, each] of this.#parts) if (each === part) this.#parts.delete(key);
  }

  *#above(): Generator<[part: Budget, whole: Budget]> {
    if (!this.#whole) return;
    yield [this, this.#whole];
    yield* this.#whole.#above();
  }
}
