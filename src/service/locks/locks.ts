import { randomUUID } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { json, text } from '../database/columns.ts';
import { Table, table } from '../database/table.ts';
import type { Clock } from '../process/clock.ts';

/** The locks that are held, so that a service that starts again keeps them for their holders. */
const locksTable = table('locks', {
  token: text(),
  project_id: text(),
  names: json<string[]>(),
  /** How messages call the holder. */
  holder: text(),
});

/** How long a service that starts again keeps locks for their former holders, in ms. */
const graceMs = 5000;

/** Somebody who waits for names or holds them. */
export type Claimant = {
  readonly names: readonly string[];
  readonly holder: string;
  /** Called once, when all names are held. The token proves it to the next service. */
  readonly onHeld: (token: string) => void;
};

type Entry = Claimant & { readonly projectId: string; token: string | undefined };

/**
 * Named locks of each project. A claimant gets all its names at once or none, so there is no deadlock, and a claimant
 * that came earlier and needs one of the names goes first.
 */
export class Locks {
  readonly #rows: Table<typeof locksTable>;
  /** In the order in which they came. Those with a token hold their names. */
  readonly #entries = new Map<string, Set<Entry>>();
  #isClosed = false;

  constructor(database: Database, clock: Clock) {
    this.#rows = new Table(database, locksTable);
    for (const { token, project_id: projectId, names, holder } of this.#rows.list()) {
      const former: Entry = { projectId, names, holder, token, onHeld: () => {} };
      this.#of(projectId).add(former);
      clock.after(graceMs, () => this.#end(former));
    }
  }

  /** Waits for names. `held` is the token of a former holder. The returned function gives the names back, or stops to wait. */
  claim(projectId: string, claimant: Claimant, held?: string): () => void {
    const entry: Entry = { ...claimant, projectId, token: undefined };
    const former = [...this.#of(projectId)].find(({ token }) => token !== undefined && token === held);
    this.#of(projectId).add(entry);
    // The names pass on without a moment in which another claimant could take them.
    if (former && sameNames(former.names, entry.names)) this.#hold(entry, former);
    else this.#serve(projectId);
    return () => this.#end(entry);
  }

  /** How many claimants come before the one with `onHeld`, and the holder of one of its names. */
  position(projectId: string, { onHeld, names }: Claimant): { before: number; holder: string | undefined } {
    const entries = [...this.#of(projectId)];
    const own = entries.findIndex((entry) => entry.onHeld === onHeld);
    const rivals = entries.filter((entry, at) => (entry.token !== undefined || at < own) && shares(entry, names));
    return { before: rivals.length, holder: rivals.find(({ token }) => token !== undefined)?.holder };
  }

  count(projectId: string): number {
    return this.#of(projectId).size;
  }

  /** Gives no locks any more, and keeps those that are held for the next service. */
  close(): void {
    this.#isClosed = true;
  }

  #of(projectId: string): Set<Entry> {
    let entries = this.#entries.get(projectId);
    if (!entries) this.#entries.set(projectId, (entries = new Set()));
    return entries;
  }

  #serve(projectId: string): void {
    const entries = [...this.#of(projectId)];
    const taken = new Set(entries.flatMap(({ token, names }) => (token === undefined ? [] : names)));
    for (const entry of entries) {
      if (entry.token !== undefined) continue;
      if (!entry.names.some((name) => taken.has(name))) this.#hold(entry);
      // Also the names of those who wait on: later claimants must not overtake them.
      for (const name of entry.names) taken.add(name);
    }
  }

  #hold(entry: Entry, former?: Entry): void {
    const { projectId, names, holder } = entry;
    if (former) {
      this.#of(projectId).delete(former);
      this.#rows.delete({ token: former.token! });
    }
    entry.token = randomUUID();
    this.#rows.insert({ token: entry.token, project_id: projectId, names: [...names], holder });
    entry.onHeld(entry.token);
  }

  #end(entry: Entry): void {
    const entries = this.#of(entry.projectId);
    if (this.#isClosed || !entries.delete(entry)) return;
    if (entry.token !== undefined) this.#rows.delete({ token: entry.token });
    this.#serve(entry.projectId);
  }
}

function shares(entry: Entry, names: readonly string[]): boolean {
  return entry.names.some((name) => names.includes(name));
}

function sameNames(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && others.every((name) => some.includes(name));
}
