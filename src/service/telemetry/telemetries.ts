import type { Clock } from '../process/clock.ts';
import type { TelemetryCategory } from '../../contract/telemetry.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import { SessionTelemetry } from './session-telemetry.ts';
import { TelemetryLog } from './telemetry-log.ts';

/** Limits of the kept events of sessions that ended. The size is in characters of JSON. */
const mostEnded = { sessions: 100, size: 64 * 1024 * 1024 };

/** Finds the telemetry of each lease, and keeps the events of sessions that ended. Creates telemetry on first use. */
export class Telemetries {
  readonly #clock: Clock;
  readonly #ended = new Map<string, TelemetryLog>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets the captured categories of a session. Rejects if the browser doesn't answer. */
  async capture(session: LocalSession, categories: readonly TelemetryCategory[]): Promise<void> {
    if (categories.length === 0 && !session.lease.has(this)) return;
    await this.of(session).capture(categories);
  }

  /** The telemetry of the session's current lease. */
  of(session: LocalSession): SessionTelemetry {
    return session.lease.part(this, () => {
      const telemetry = new SessionTelemetry(session, this.#clock);
      session.lease.signal.addEventListener('abort', () => {
        if (!session.alive) this.#keep(session.id, telemetry.log);
      });
      return telemetry;
    });
  }

  /** The events of a session that ended. `undefined` if it had none, or if the limits of `mostEnded` removed them. */
  ofEnded(id: string): TelemetryLog | undefined {
    return this.#ended.get(id);
  }

  #keep(id: string, log: TelemetryLog): void {
    if (log.size === 0) return;
    this.#ended.set(id, log);
    let size = Array.from(this.#ended.values()).reduce((sum, kept) => sum + kept.size, 0);
    for (const [oldest, kept] of this.#ended) {
      if (this.#ended.size <= mostEnded.sessions && size <= mostEnded.size) break;
      this.#ended.delete(oldest);
      size -= kept.size;
    }
  }
}
