import type { Clock } from '../process/clock.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import type { Counts, HistorySample } from '../../contract/dashboard-events.ts';

const intervalMs = 5000;
const lengthMs = 15 * 60_000;

/**
 * Keeps the numbers of browsers and waiting tests of the last 15 minutes, by project, for the dashboard's chart. Takes
 * a sample 5 s after an event and at no other time, so that an idle service does nothing.
 */
export class History {
  readonly #clock: Clock;
  readonly #count: () => Map<string, Counts>;
  #samples: { at: number; counts: Map<string, Counts> }[] = [];
  #isDue = false;

  constructor({ clock, events, count }: { clock: Clock; events: ServiceEvents; count: () => Map<string, Counts> }) {
    this.#clock = clock;
    this.#count = count;
    const due = () => this.#due();
    events.on('acquired', due);
    events.on('leaseEnded', due);
    events.on('reset', due);
  }

  /** The samples of a project, or of all, oldest first. */
  of(projectId: string | undefined): HistorySample[] {
    return this.#samples.map(({ at, counts }) => ({ at, ...sumOf(counts, projectId) }));
  }

  #due(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#clock.after(intervalMs, () => {
      this.#isDue = false;
      const now = this.#clock.now();
      const counts = this.#count();
      // Keeps one sample from before the chart's start, because it has the values at the start.
      const start = this.#samples.findLastIndex(({ at }) => at < now - lengthMs);
      this.#samples = [...this.#samples.slice(Math.max(0, start)), { at: now, counts }];
      const { waiting, starting } = sumOf(counts, undefined);
      if (waiting + starting > 0) this.#due();
    });
  }
}

/** Adds up the counts of a project, or of all projects. */
export function sumOf(counts: Map<string, Counts>, projectId: string | undefined): Counts {
  const sum: Counts = { leased: 0, starting: 0, waiting: 0, free: 0, draining: 0 };
  for (const [id, own] of counts) {
    if (projectId !== undefined && id !== projectId) continue;
    for (const key of Object.keys(sum) as (keyof Counts)[]) sum[key] += own[key];
  }
  return sum;
}
