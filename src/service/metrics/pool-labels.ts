import type { EventPool } from '../process/service-events.ts';

export type PoolLabels = { project: string; pool: string };

const mostPools = 100;
const other: PoolLabels = { project: 'other', pool: 'other' };

/** The metric labels of pools. Only the first 100 pools since the start have labels of their own. */
export class PoolLabelling {
  readonly #projectName: (id: string) => string;
  readonly #labels = new Map<string, PoolLabels>();

  constructor(projectName: (id: string) => string) {
    this.#projectName = projectName;
  }

  of({ name = 'unnamed', projectId }: EventPool): PoolLabels {
    const key = `${projectId} ${name}`;
    const known = this.#labels.get(key);
    if (known) return known;
    if (this.#labels.size >= mostPools) return other;
    const labels = { project: this.#projectName(projectId), pool: name };
    this.#labels.set(key, labels);
    return labels;
  }
}
