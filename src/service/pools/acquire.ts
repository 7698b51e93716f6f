import type { Clock } from '../process/clock.ts';
import type { AcquireOutcome, ServiceEvents } from '../process/service-events.ts';
import type { LeaseTerms } from '../sessions/lease.ts';
import type { Session } from '../sessions/session.ts';
import type { Pool } from './pool.ts';

/** Leases a browser from a pool like `Pool.acquire`, and emits an event with the outcome and the time that it took. */
export async function acquire(
  pool: Pool,
  asked: LeaseTerms & { timeoutMs: number; signal: AbortSignal },
  { clock, events }: { clock: Clock; events: ServiceEvents },
): Promise<Session | undefined> {
  const askedAt = clock.now();
  const note = (outcome: AcquireOutcome) =>
    events.emit('acquired', { pool, outcome, seconds: Math.max(0, clock.now() - askedAt) / 1000 });
  try {
    const session = await pool.acquire(asked);
    note(session ? 'leased' : asked.signal.aborted ? 'left' : 'timeout');
    return session;
  } catch (error) {
    note('failed');
    throw error;
  }
}
