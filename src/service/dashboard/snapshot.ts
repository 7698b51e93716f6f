import type { Changes, StateChange } from '../../contract/dashboard-events.ts';
import type { SharedState } from './state-builder.ts';

/** A change of the state, without the name of the listener's key. */
export type SharedChange = Omit<StateChange, 'service'> & Partial<Pick<SharedState, 'service'>>;

/** The JSON of each entry of a list, by its id. A single value counts as a list with one entry. */
type Texts = ReadonlyMap<string, string>;

/** The state at one time. Finds its changes since an earlier time, once for all listeners. */
export class Snapshot {
  readonly state: SharedState;
  readonly #texts: ReadonlyMap<string, Texts>;
  readonly #changes = new WeakMap<Snapshot, SharedChange>();

  constructor(state: SharedState) {
    this.state = state;
    this.#texts = new Map(Object.entries(state).map(([part, value]) => [part, textsOf(value)]));
  }

  /** The values and the entries of lists that differ from those of an earlier snapshot. Empty if nothing has changed. */
  changesSince(before: Snapshot): SharedChange {
    const changes = this.#changes.get(before) ?? this.#compare(before);
    this.#changes.set(before, changes);
    return changes;
  }

  #compare(before: Snapshot): SharedChange {
    const parts = Object.entries(this.state).map(([part, value]) => {
      const [texts, earlier] = [this.#texts.get(part)!, before.#texts.get(part)!];
      if (!Array.isArray(value)) return [part, texts.get('') === earlier.get('') ? undefined : value];
      return [part, changesOf(value, texts, earlier)];
    });
    return Object.fromEntries(parts.filter(([, change]) => change !== undefined)) as SharedChange;
  }
}

function textsOf(value: object): Texts {
  if (!Array.isArray(value)) return new Map([['', JSON.stringify(value)]]);
  return new Map(value.map((entry: { id: string }) => [entry.id, JSON.stringify(entry)] as const));
}

/** `undefined` if nothing has changed. */
function changesOf(list: { id: string }[], texts: Texts, earlier: Texts): Changes<{ id: string }> | undefined {
  const changed = list.filter(({ id }) => texts.get(id) !== earlier.get(id));
  const removed = [...earlier.keys()].filter((id) => !texts.has(id));
  return changed.length + removed.length > 0 ? { changed, removed } : undefined;
}
