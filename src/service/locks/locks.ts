import { randomUUID } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { json, optional, text } from '../database/columns.ts';
import { Table, table } from '../database/table.ts';
import type { Clock } from '../process/clock.ts';

/** The locks that are held or whose holders are missing, so that a service that starts again knows these holders. */
const locksTable = table('locks', {
  token: text(),
  project_id: text(),
  names: json<string[]>(),
  /** How messages call the holder. */
  holder: text(),
  /** Who got one of the names after the holder had lost them. */
  taken_by: optional(text()),
});

/** How long names are kept for a holder whose connection broke, and after a restart of the service, in ms. */
const graceMs = 2000;
const restartMs = 5000;
/** For how many missing holders the service knows if others got their names. */
const mostMissing = 1000;

/** Somebody who waits for names or holds them. */
export type Claimant = {
  readonly names: readonly string[];
  readonly holder: string;
  /** Called once, when all names are held. The token proves it on the next connection. */
  readonly onHeld: (token: string) => void;
  /** Called instead if this claimant held the names before, and another one has got one of them since. */
  readonly onLost: (takenBy: string) => void;
  /** Called when another connection with the token takes the names over: this one is broken or late. */
  readonly onReplaced: () => void;
};

/** The claimant of a former service. */
const nobody = { onHeld: () => {}, onLost: () => {}, onReplaced: () => {} };

type Entry = Claimant & { readonly projectId: string; token: string | undefined; takenBy?: string | undefined };

/**
 * Named locks of each project. A claimant gets all its names at once or none, so there is no deadlock, and a claimant
 * that came earlier and needs one of the names goes first.
 */
export class Locks {
  readonly #rows: Table<typeof locksTable>;
  /** In the order in which they came. Those with a token hold their names. */
  readonly #entries = new Map<string, Set<Entry>>();
  /** Holders that lost their names, and may still come back. */
  readonly #missing = new Set<Entry>();
  readonly #clock: Clock;
  #isClosed = false;

  constructor(database: Database, clock: Clock) {
    this.#rows = new Table(database, locksTable);
    this.#clock = clock;
    for (const { token, project_id: projectId, names, holder, taken_by: takenBy } of this.#rows.list()) {
      const former: Entry = { ...nobody, projectId, names, holder, token, takenBy };
      if (takenBy === undefined) this.#of(projectId).add(former);
      else this.#missing.add(former);
      this.#loseAfter(restartMs, former);
    }
  }

  /**
   * Waits for names. `held` is the token of a former holder. The returned function gives the names back, or stops to
   * wait. With `isBroken` the claimant may come back.
   */
  claim(projectId: string, claimant: Claimant, held?: string): (isBroken: boolean) => void {
    const entry: Entry = { ...claimant, projectId, token: undefined };
    const former = held === undefined ? undefined : this.#former(entry, held);
    if (former?.takenBy !== undefined) {
      claimant.onLost(former.takenBy);
      return () => {};
    }
    this.#of(projectId).add(entry);
    // The names pass on without a moment in which another claimant could take them.
    if (former) this.#hold(entry, former);
    else this.#serve(projectId);
    return (isBroken) => {
      if (isBroken && entry.token !== undefined) this.#loseAfter(graceMs, entry);
      else this.#end(entry);
    };
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

  #former({ projectId, names }: Entry, held: string): Entry | undefined {
    return [...this.#of(projectId), ...this.#missing].find(
      (entry) => entry.token === held && entry.projectId === projectId && sameNames(entry.names, names),
    );
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
    if (former && this.#forget(former)) former.onReplaced();
    for (const missing of this.#missing) {
      if (missing.projectId !== projectId || missing.takenBy !== undefined || !shares(missing, names)) continue;
      missing.takenBy = holder;
      this.#rows.change({ token: missing.token! }, { taken_by: holder });
    }
    // The same one, because the answer to a broken connection may not arrive.
    entry.token = former?.token ?? randomUUID();
    this.#rows.insert({ token: entry.token, project_id: projectId, names: [...names], holder });
    entry.onHeld(entry.token);
  }

  /** Others get the names of a holder that doesn't come back in time. */
  #loseAfter(ms: number, entry: Entry): void {
    this.#clock.after(ms, () => {
      if (this.#isClosed || !this.#of(entry.projectId).delete(entry)) return;
      this.#missing.add(entry);
      const [oldest] = this.#missing;
      if (this.#missing.size > mostMissing) this.#forget(oldest!);
      this.#serve(entry.projectId);
    });
  }

  #end(entry: Entry): void {
    if (this.#forget(entry)) this.#serve(entry.projectId);
  }

  /** Whether it was known. */
  #forget(entry: Entry): boolean {
    if (this.#isClosed || !(this.#of(entry.projectId).delete(entry) || this.#missing.delete(entry))) return false;
    if (entry.token !== undefined) this.#rows.delete({ token: entry.token });
    return true;
  }
}

function shares(entry: Entry, names: readonly string[]): boolean {
  return entry.names.some((name) => names.includes(name));
}

function sameNames(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && others.every((name) => some.includes(name));
}
