import type { Page } from '../../contract/operation.ts';
import type { Profile } from '../../contract/profiles.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';
import { newId } from '../id.ts';
import { inTransaction, unlessTaken, type Database } from './database.ts';
import { pageOfRows } from './page.ts';

type Row = {
  id: string;
  name: string | null;
  created_at: number;
  updated_at: number;
  last_used_at: number | null;
  version: string | null;
};

/** The stored profiles, each of them known in its project only. */
export class ProfileStore {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Throws `conflict` when the name is taken. */
  create(projectId: string, name: string | undefined): Profile {
    const id = newId();
    const now = this.#clock.now();
    this.#unlessTaken(name, () =>
      this.#database
        .prepare('INSERT INTO profiles (id, project_id, name, created_at, updated_at) VALUES (?, ?, ?, ?, ?)')
        .run(id, projectId, name ?? null, now, now),
    );
    return this.get(projectId, id);
  }

  /** Creates the profile of this name where there is none. */
  ensure(projectId: string, name: string): void {
    if (!this.#select(projectId, 'name', name)) this.create(projectId, name);
  }

  /** An id wins over a name. Throws `not_found`. */
  get(projectId: string, idOrName: string): Profile {
    const profile = this.#select(projectId, 'id', idOrName) ?? this.#select(projectId, 'name', idOrName);
    if (!profile) throw new OperationError('not_found', `no profile has the id or name ${idOrName}`);
    return profile;
  }

  /** By its id, or else by its name. Throws `not_found`. */
  resolve(projectId: string, { id, name }: { id?: string; name?: string }): Profile {
    const profile = id ? this.#select(projectId, 'id', id) : this.#select(projectId, 'name', name ?? '');
    if (!profile) throw new OperationError('not_found', `no profile has the ${id ? `id ${id}` : `name ${name}`}: create it first`);
    return profile;
  }

  /** Newest first. `query` is part of a name or id, `name` an exact name. */
  list(projectId: string, { limit, offset, query, name }: { limit: number; offset: number; query?: string; name?: string }): Page<Profile> {
    const rows = this.#database
      .prepare(
        `SELECT * FROM profiles
         WHERE project_id = :project AND (:name IS NULL OR name = :name)
           AND (:query IS NULL OR instr(lower(ifnull(name, '')), lower(:query)) > 0 OR instr(id, :query) > 0)
         ORDER BY created_at DESC, id DESC LIMIT :count OFFSET :offset`,
      )
      .all({ project: projectId, name: name ?? null, query: query ?? null, count: limit + 1, offset }) as Row[];
    return pageOfRows(rows, toProfile, { limit, offset });
  }

  /** Its auth connections, which know it by its name, follow. Throws `not_found`, and `conflict` when the new name is taken. */
  rename(projectId: string, idOrName: string, name: string): Profile {
    const { id, name: before } = this.get(projectId, idOrName);
    const connections = this.#database.prepare('UPDATE auth_connections SET profile_name = ? WHERE project_id = ? AND profile_name = ?');
    this.#unlessTaken(name, () =>
      inTransaction(this.#database, () => {
        this.#database.prepare('UPDATE profiles SET name = ?, updated_at = ? WHERE id = ?').run(name, this.#clock.now(), id);
        connections.run(name, projectId, before);
      }),
    );
    return this.get(projectId, id);
  }

  /** Notes that a browser was started with the profile. */
  used(id: string): void {
    this.#database.prepare('UPDATE profiles SET last_used_at = ? WHERE id = ?').run(this.#clock.now(), id);
  }

  /** The version that was saved last, while there is one. */
  version(id: string): string | undefined {
    const row = this.#database.prepare('SELECT version FROM profiles WHERE id = ?').get(id) as Pick<Row, 'version'> | undefined;
    return row?.version ?? undefined;
  }

  /** The versions of all profiles. */
  versions(): string[] {
    const rows = this.#database.prepare('SELECT version FROM profiles WHERE version IS NOT NULL').all() as { version: string }[];
    return rows.map(({ version }) => version);
  }

  /** Makes another version the one of the profile, which no loss of power undoes; false when there is no such profile. */
  setVersion(id: string, version: string): boolean {
    this.#database.pragma('synchronous = FULL');
    try {
      const update = this.#database.prepare('UPDATE profiles SET version = ?, updated_at = ? WHERE id = ?');
      return update.run(version, this.#clock.now(), id).changes > 0;
    } finally {
      this.#database.pragma('synchronous = NORMAL');
    }
  }

  delete(id: string): void {
    this.#database.prepare('DELETE FROM profiles WHERE id = ?').run(id);
  }

  countOf(projectId: string): number {
    const row = this.#database.prepare('SELECT count(*) AS count FROM profiles WHERE project_id = ?').get(projectId);
    return (row as { count: number }).count;
  }

  #select(projectId: string, column: 'id' | 'name', value: string): Profile | undefined {
    const row = this.#database.prepare(`SELECT * FROM profiles WHERE project_id = ? AND ${column} = ?`).get(projectId, value) as
      | Row
      | undefined;
    return row && toProfile(row);
  }

  #unlessTaken(name: string | undefined, write: () => void): void {
    unlessTaken(write, ({ message }) =>
      message.includes('auth_connections')
        ? `an earlier profile named ${name} has auth connections to the same domain: delete them first`
        : `a profile named ${name} exists already`,
    );
  }
}

function toProfile(row: Row): Profile {
  return {
    id: row.id,
    name: row.name,
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
    ...(row.last_used_at !== null && { last_used_at: new Date(row.last_used_at).toISOString() }),
  };
}
