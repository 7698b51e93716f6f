import type { EventPool } from '../process/service-events.ts';

export type PoolLabels = { project: string; pool: string; engine: string };

const mostPools = 100;
/** The labels of a deleted pool are kept for this time, in ms, so that a scraper still reads the pool's last counts. */
const keptMs = 10 * 60_000;
const other: PoolLabels = { project: 'other', pool: 'other', engine: 'other' };

/** The metric labels of pools. At most 100 pools have labels of their own. */
export class PoolLabelling {
  readonly #projectName: (id: string) => string;
  readonly #labels = new Map<string, PoolLabels>();
  /** The time of the first read after a pool was deleted, in ms since the epoch. */
  readonly #missedAt = new Map<string, number>();

  constructor(projectName: (id: string) => string) {
    this.#projectName = projectName;
  }

  of(pool: EventPool): PoolLabels {
    const { name = 'unnamed', projectId, config } = pool;
    const key = keyOf(pool);
    const known = this.#labels.get(key);
    if (known) return known;
    if (this.#labels.size >= mostPools) return other;
    const labels = { project: this.#projectName(projectId), pool: name, engine: config.engine ?? 'chromium' };
    this.#labels.set(key, labels);
    return labels;
  }

  /** Forgets the labels of pools that were deleted 10 min ago, and returns these labels. Call it at each read. */
  forgetDeleted(pools: readonly EventPool[], now: number): PoolLabels[] {
    const existing = new Set(pools.map(keyOf));
    const forgotten: PoolLabels[] = [];
    for (const [key, labels] of this.#labels) {
      const missedAt = this.#missedAt.get(key) ?? now;
      this.#missedAt.set(key, missedAt);
      if (existing.has(key)) this.#missedAt.delete(key);
      if (existing.has(key) || now - missedAt < keptMs) continue;
      this.#labels.delete(key);
      this.#missedAt.delete(key);
      forgotten.push(labels);
    }
    return forgotten;
  }
}

function keyOf({ name = 'unnamed', projectId, config: { engine = 'chromium' } }: EventPool): string {
  return `${projectId} ${engine} ${name}`;
}
