import type { OperationError } from '../../contract/errors.ts';
import type { TelemetryCategory } from '../../contract/telemetry.ts';
import { newToken } from '../process/id.ts';
import type { Launch } from './launch.ts';

/** The parameter in the URL of a client that a control plane redirects to the machine. */
export const endsLease = 'ends_lease';

/** How many earlier tags a lease keeps. */
const mostPastTags = 100;

/** The properties of a pool's lease that its caller chooses. `endsWithSocket`: it ends when its client disconnects. */
export type LeaseTerms = {
  name?: string;
  tags?: Record<string, string>;
  startUrl?: string;
  launch?: Launch;
  endsWithSocket?: true;
};

/** The tokens of a lease that an earlier service process began. */
export type EarlierTokens = { token: string; liveViewToken: string };

/**
 * The time in which one caller uses a session: a lease from a pool, or the life of a single session. An idle browser of a
 * pool has a lease that no caller knows.
 */
export class Lease {
  /** The bearer token of `cdp_ws_url`. */
  readonly token: string;
  /** The secret that signs links to the live view. */
  readonly liveViewToken: string;
  name: string | undefined;
  tags: Record<string, string> | undefined;
  /** The earlier tags, oldest first: the fixtures put each test into the tags. */
  pastTags: Record<string, string>[] = [];
  /** The telemetry that is captured now. */
  telemetry: readonly TelemetryCategory[];
  /** The requested page. It may have failed to open. */
  startUrl: string | undefined;
  endsWithSocket: true | undefined;
  /** The launch options of its client. */
  launch: Launch | undefined;
  /** Set while leased from a pool. */
  pool: { id: string; name?: string } | undefined;
  /** When it was leased from the pool, in ms since the epoch. */
  leasedAt: number | undefined;
  readonly #parts = new Map<object, unknown>();
  /** Made on demand, because a control plane has thousands of leases and uses few of their signals. */
  #ended: AbortController | undefined;
  #reason: OperationError | undefined;

  constructor(sessionId: string, telemetry: readonly TelemetryCategory[] = [], earlier?: EarlierTokens) {
    this.telemetry = telemetry;
    this.token = earlier?.token ?? newToken(sessionId);
    this.liveViewToken = earlier?.liveViewToken ?? newToken(sessionId);
  }

  /** Aborts when the lease or its session ends. */
  get signal(): AbortSignal {
    this.#ended ??= new AbortController();
    if (this.#reason) this.#ended.abort(this.#reason);
    return this.#ended.signal;
  }

  /** The part of the lease that `owner` keeps, such as the running programs. The first call creates it. */
  part<T>(owner: object, create: () => T): T {
    if (!this.#parts.has(owner)) this.#parts.set(owner, create());
    return this.#parts.get(owner) as T;
  }

  has(owner: object): boolean {
    return this.#parts.has(owner);
  }

  /** Changes the tags of a lease in use. */
  retag(tags: Record<string, string> | undefined): void {
    if (this.tags) this.pastTags = [...this.pastTags, this.tags].slice(-mostPastTags);
    this.tags = tags;
  }

  end(reason: OperationError): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#ended?.abort(reason);
  }
}
