import { EventEmitter } from 'node:events';

/** The pool of an event, for labels. */
export type EventPool = { readonly id: string; readonly name: string | undefined; readonly projectId: string };

/** How an acquire ended. `left`: the caller hung up. */
export type AcquireOutcome = 'leased' | 'timeout' | 'left' | 'failed';

/** Why a lease ended. `abandoned`: the caller hung up before it got the browser. */
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
  readonly machine: string | undefined;
  /** In ms since the epoch. */
  readonly leasedAt: number | undefined;
};

/** Events of a service, for its metrics and its dashboard. */
type Events = {
  acquired: [{ pool: EventPool; outcome: AcquireOutcome; seconds: number }];
  /** A client connected to a session. */
  connected: [{ transport: 'cdp' | 'playwright'; seconds: number }];
  leaseEnded: [{ pool: EventPool; reason: LeaseEnd; lease: EndedLease }];
  /** The place of an ended lease has an idle browser again. */
  reset: [{ pool: EventPool; seconds: number }];
};

/** Tells the rooms that measure about the rooms that work. */
export class ServiceEvents extends EventEmitter<Events> {}
