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

/** What happens in a service, for its metrics. */
type Events = {
  acquired: [{ pool: EventPool; outcome: AcquireOutcome; seconds: number }];
  /** A client connected to a session. */
  connected: [{ transport: 'cdp' | 'playwright'; seconds: number }];
  leaseEnded: [{ pool: EventPool; reason: LeaseEnd }];
  /** The place of an ended lease has an idle browser again. */
  reset: [{ pool: EventPool; seconds: number }];
};

/** Tells the rooms that measure about the rooms that work. */
export class ServiceEvents extends EventEmitter<Events> {}
