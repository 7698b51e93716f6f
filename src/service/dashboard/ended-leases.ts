import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { EndedState } from '../../contract/dashboard-events.ts';
import { leaseLabels } from './lease-labels.ts';

const mostKept = 300;

/** Remembers the leases and sessions that ended last, for the dashboard. */
export class EndedLeases {
  readonly #sessions: Sessions;
  #ended: EndedState[] = [];

  constructor({ sessions, events, clock }: { sessions: Sessions; events: ServiceEvents; clock: Clock }) {
    this.#sessions = sessions;
    events.on('leaseEnded', ({ pool, reason, lease }) => {
      const now = clock.now();
      this.#ended.push({
        id: newId(),
        session_id: lease.sessionId,
        project_id: pool.projectId,
        pool: { id: pool.id, ...(pool.name && { name: pool.name }) },
        ...(lease.name && { name: lease.name }),
        ...(lease.machine && { machine: lease.machine }),
        leased_at: lease.leasedAt ?? now,
        ended_at: now,
        reason,
        ...leaseLabels(lease.tags, lease.pastTags),
      });
      if (this.#ended.length > mostKept) this.#ended.shift();
    });
  }

  /** Ended leases of pools and ended single sessions, newest first. */
  list(): EndedState[] {
    const sessions = this.#sessions.list();
    const lost = new Set(sessions.filter(({ endReason }) => endReason === 'machine_lost').map(({ id }) => id));
    const single = sessions
      .filter(({ alive, settings }) => !alive && settings.poolId === undefined)
      .slice(0, mostKept)
      .map(endOf);
    // The machine of a returned browser may turn out to be lost only when the browser is ended there.
    const pooled = this.#ended.map((entry) =>
      entry.reason === 'recycled' && lost.has(entry.session_id) ? { ...entry, reason: 'machine_lost' } : entry,
    );
    return [...pooled, ...single].sort((one, other) => other.ended_at - one.ended_at).slice(0, mostKept);
  }
}

function endOf(session: Session): EndedState {
  const { lease } = session;
  return {
    id: session.id,
    session_id: session.id,
    project_id: session.settings.projectId,
    ...(lease.name && { name: lease.name }),
    ...(session.place && { machine: session.place.machine }),
    leased_at: session.createdAt,
    ended_at: session.endedAt ?? session.createdAt,
    reason: session.endReason ?? 'deleted',
    ...leaseLabels(lease.tags, lease.pastTags),
  };
}
