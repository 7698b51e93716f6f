import type { Changes } from '../../contract/dashboard-events.ts';

/** The JSON of each entry of a list, by its id. Made once and compared for all listeners. */
export type EntryTexts = ReadonlyMap<string, string>;

export function textsOf(list: readonly { id: string }[]): EntryTexts {
  return new Map(list.map((entry) => [entry.id, JSON.stringify(entry)] as const));
}

/** Finds the entries of a list that changed since a listener last got them. */
export class ChangedEntries<T extends { id: string }> {
  #known: EntryTexts = new Map();

  /** `undefined` if nothing changed. */
  since(list: readonly T[], texts: EntryTexts): Changes<T> | undefined {
    const changed = list.filter(({ id }) => this.#known.get(id) !== texts.get(id));
    const removed = [...this.#known.keys()].filter((id) => !texts.has(id));
    this.#known = texts;
    return changed.length + removed.length > 0 ? { changed, removed } : undefined;
  }
}

/** Finds whether a value changed since a listener last got it. */
export class ChangedValue<T> {
  #known: string | undefined;

  /** `undefined` if the value hasn't changed. */
  since(value: T, text: string): T | undefined {
    if (text === this.#known) return undefined;
    this.#known = text;
    return value;
  }
}
