/** How many directories of a tree a walk has open at once, times the levels of the tree. */
const branchesAtOnce = 32;
/** How many other entries of a directory are visited at once. */
const entriesAtOnce = 64;

type Entry = { isDirectory: () => boolean };

/** Visits the entries of a tree, several at once. The number of open directories doesn't depend on the tree's width. */
export class Branches {
  #free = branchesAtOnce - 1;

  /** Calls `visit` for each entry of a directory. After a failure, it has stopped when it rejects. */
  async each<T extends Entry>(entries: readonly T[], visit: (entry: T) => Promise<void>): Promise<void> {
    const directories = entries.filter((entry) => entry.isDirectory());
    const others = entries.filter((entry) => !entry.isDirectory()).values();
    const visits = Array.from({ length: Math.min(entriesAtOnce, entries.length) }, () => visitAll(others, visit));
    const next = directories.values();
    for (let started = 1; started < directories.length && this.#free > 0; started += 1) {
      this.#free -= 1;
      visits.push(visitAll(next, visit).finally(() => (this.#free += 1)));
    }
    visits.push(visitAll(next, visit));
    for (const result of await Promise.allSettled(visits)) if (result.status === 'rejected') throw result.reason;
  }
}

async function visitAll<T>(entries: Iterable<T>, visit: (entry: T) => Promise<void>): Promise<void> {
  for (const entry of entries) await visit(entry);
}
