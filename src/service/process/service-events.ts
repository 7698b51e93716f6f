import { EventEmitter } from 'node:events';
import type { Engine } from '../../contract/values.ts';

/** The pool of an event, as metrics need it for their labels. */
export type EventPool = {
  readonly id: string;
  readonly name: string | undefined;
  readonly projectId: string;
  readonly config: { readonly engine?: Engine | undefined };
};

/** How an acquire ended. `left`: the caller hung up. */
export type AcquireOutcome = 'leased' | 'timeout' | 'left' | 'failed';

/**
 * Why a lease ended. `reused`: the browser serves the next lease. `recycled`: a new browser replaces it. `abandoned`: the
 * caller hung up before it got the browser.
 */
export type LeaseEnd =
  | 'reused'
  | 'recycled'
  | 'abandoned'
  | 'deleted'
  | 'idle_timeout'
  | 'browser_ended'
  | 'machine_lost'
  | 'pool_deleted'
  | 'shutdown';

/** A lease that ended. Its session may be leased again. */
export type EndedLease = {
  readonly sessionId: string;
  readonly name: string | undefined;
  readonly tags: Record<string, string> | undefined;
  /** The earlier ones, oldest first. */
  readonly pastTags: readonly Record<string, string>[];
  readonly machine: string | undefined;
  /** In ms since the epoch. */
  readonly leasedAt: number | undefined;
};

/** Events of a service, for its metrics and its dashboard. */
type Events = {
  acquired: [{ pool: EventPool; outcome: AcquireOutcome; seconds: number }];
  /** A client connected to a session. */
  connected: [{ transport: 'cdp' | 'playwright'; seconds: number }];
  /** A client of a URL leased a browser. */
  leasedByUrl: [{ language: string; version: string }];
  leaseEnded: [{ pool: EventPool; reason: LeaseEnd; lease: EndedLease }];
  /** An idle browser has replaced the one of an ended lease. `seconds` is the time since the lease's end. */
  reset: [{ pool: EventPool; seconds: number }];
};

/** Sends events from the parts of the service that lease browsers to its metrics and its dashboard. */
export class ServiceEvents extends EventEmitter<Events> {}
