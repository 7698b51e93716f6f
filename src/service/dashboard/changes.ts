import type { Changes } from './dashboard-state.ts';

/** Finds the entries of a list that changed since the last look. */
export class ChangedEntries<T extends { id: string }> {
  #known = new Map<string, string>();

  /** `undefined` if nothing changed. */
  since(list: readonly T[]): Changes<T> | undefined {
    const known = new Map(list.map((entry) => [entry.id, JSON.stringify(entry)] as const));
    const changed = list.filter(({ id }) => this.#known.get(id) !== known.get(id));
    const removed = [...this.#known.keys()].filter((id) => !known.has(id));
    this.#known = known;
    return changed.length + removed.length > 0 ? { changed, removed } : undefined;
  }
}

/** Finds whether a value changed since the last look. */
export class ChangedValue<T> {
  #known: string | undefined;

  since(value: T): T | undefined {
    const text = JSON.stringify(value);
    if (text === this.#known) return undefined;
    this.#known = text;
    return value;
  }
}
