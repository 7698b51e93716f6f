import type { BodyOutput, ListPage } from '../../contract/operation.ts';
import { profile, type Profile, type profiles } from '../../contract/profiles.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import { unlessTaken, type Database } from '../database/database.ts';
import { answerOf } from '../database/answer-of.ts';
import { contains, Table, table } from '../database/table.ts';
import { integer, optional, text, time } from '../database/columns.ts';

/** The stored profiles of all projects. */
const profilesTable = table('profiles', {
  id: text(),
  project_id: text(),
  /** Unique in the project. */
  name: optional(text()),
  created_at: time(),
  updated_at: time(),
  last_used_at: optional(time()),
  /** The version of the files that was saved last. */
  version: optional(text()),
  /** The size of that version. */
  size_bytes: optional(integer()),
}).with({ rules: ['UNIQUE (project_id, name)'] });

type ProfileCreate = BodyOutput<typeof profiles.create>;
type ProfileUpdate = BodyOutput<typeof profiles.update>;

const toProfile = answerOf(profile, profilesTable);

/** Stores the names and versions of profiles. Only the project that created a profile can see it. */
export class ProfileStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #rows: Table<typeof profilesTable>;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    this.#rows = new Table(database, profilesTable);
  }

  /** Throws `conflict` if the name is taken. */
  create(projectId: string, body: ProfileCreate): Profile {
    const now = this.#clock.now();
    const insert = () =>
      this.#rows.insert({ ...body, id: newId(), project_id: projectId, created_at: now, updated_at: now });
    return toProfile(this.#unlessTaken(body.name, insert));
  }

  /** Creates the profile of this name if it is missing. */
  ensure(projectId: string, name: string): void {
    if (!this.#rows.find({ project_id: projectId, name })) this.create(projectId, { name });
  }

  /** Finds a profile by id, else by name. Throws `not_found`. */
  get(projectId: string, idOrName: string): Profile {
    const row =
      this.#rows.find({ project_id: projectId, id: idOrName }) ??
      this.#rows.find({ project_id: projectId, name: idOrName });
    if (!row) throw new OperationError('not_found', `no profile has the id or name ${idOrName}`);
    return toProfile(row);
  }

  /** Finds a profile by its id, or without an id by its name. Throws `not_found`. */
  resolve(projectId: string, { id, name }: { id?: string; name?: string }): Profile {
    const row = this.#rows.find({ project_id: projectId, ...(id ? { id } : { name }) });
    if (!row)
      throw new OperationError('not_found', `no profile has the ${id ? `id ${id}` : `name ${name}`}: create it first`);
    return toProfile(row);
  }

  /** Newest first. `query` is part of a name or id, `name` an exact name. */
  list(
    projectId: string,
    { name, ...page }: { limit: number; offset: number; query?: string; name?: string },
  ): ListPage<Profile> {
    const search = `${contains('name')} OR instr(id, :query) > 0`;
    return this.#rows.page(
      { project_id: projectId, name },
      { ...page, search, order: 'created_at DESC, id DESC' },
      toProfile,
    );
  }

  /** Throws `not_found`, and `conflict` if the new name is taken. */
  update(projectId: string, idOrName: string, body: ProfileUpdate): Profile {
    const { id } = this.get(projectId, idOrName);
    const changes = { ...body, updated_at: this.#clock.now() };
    this.#unlessTaken(body.name, () => this.#rows.change({ id }, changes));
    return this.get(projectId, id);
  }

  /** Records that a browser started with the profile now. */
  used(id: string): void {
    this.#rows.change({ id }, { last_used_at: this.#clock.now() });
  }

  /** The version that was saved last, if any. */
  version(id: string): string | undefined {
    return this.#rows.find({ id })?.version;
  }

  /** The versions of all profiles. */
  versions(): string[] {
    return this.#rows.list().flatMap(({ version }) => version ?? []);
  }

  /**
   * Sets the current version and its size. The row is on the disk afterwards, so that no power failure undoes it. Returns
   * false if the profile doesn't exist.
   */
  setVersion(id: string, version: string, sizeBytes: number): boolean {
    this.#database.pragma('synchronous = FULL');
    try {
      return this.#rows.change({ id }, { version, size_bytes: sizeBytes, updated_at: this.#clock.now() }) > 0;
    } finally {
      this.#database.pragma('synchronous = NORMAL');
    }
  }

  delete(id: string): void {
    this.#rows.delete({ id });
  }

  countOf(projectId: string): number {
    return this.#rows.count({ project_id: projectId });
  }

  #unlessTaken<T>(name: string | undefined, write: () => T): T {
    return unlessTaken(write, ({ message }) =>
      message.includes('auth_connections')
        ? `an earlier profile named ${name} has auth connections to the same domain: delete them first`
        : `a profile named ${name} exists already`,
    );
  }
}
