import { OperationError } from '../../contract/errors.ts';
import type { Page } from '../../contract/operation.ts';
import type { Project } from '../../contract/projects.ts';
import type { Clock } from '../clock.ts';
import { newId } from '../id.ts';
import type { Database, Statement } from './database.ts';
import { pageOfRows } from './page.ts';

type Row = { id: string; name: string; status: Project['status']; created_at: number; updated_at: number };

const isActive = "status = 'active' AND deleted_at IS NULL";

/** The projects of the organization, of which at least one is active. Deleted ones are kept and never shown. */
export class ProjectStore {
  readonly #database: Database;
  readonly #clock: Clock;
  /** Prepared once, for nearly every request needs them. */
  readonly #default: Statement;
  readonly #active: Statement;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    this.#default = database.prepare(`SELECT id FROM projects WHERE ${isActive} ORDER BY rowid LIMIT 1`);
    this.#active = database.prepare(`SELECT 1 FROM projects WHERE id = ? AND ${isActive}`);
  }

  /** The id of the project for requests that choose none: the oldest one that is active. */
  defaultId(): string {
    return (this.#default.get() as { id: string }).id;
  }

  /** Whether there is such a project, neither archived nor deleted. */
  isActive(id: string): boolean {
    return this.#active.get(id) !== undefined;
  }

  /** Throws `project_not_found` unless it is active. */
  refuseInactive(id: string): void {
    if (!this.isActive(id)) throw new OperationError('project_not_found', `there is no active project with the id ${id}`);
  }

  /** Throws `conflict` when the name is taken. */
  create(name: string): Project {
    this.#refuseTakenName(name);
    const id = newId();
    const now = this.#clock.now();
    this.#database
      .prepare("INSERT INTO projects (id, name, status, created_at, updated_at) VALUES (?, ?, 'active', ?, ?)")
      .run(id, name, now, now);
    return this.get(id);
  }

  /** An id wins over a name. Throws `project_not_found`. */
  get(idOrName: string): Project {
    const project = this.#select('id', idOrName) ?? this.#select('name', idOrName);
    if (!project) throw noProject(idOrName);
    return project;
  }

  /** Newest first. `query` is part of a name, `name` an exact name, `id` the only project to be shown. */
  list({ limit, offset, query, name, id }: { limit: number; offset: number; query?: string; name?: string; id?: string }): Page<Project> {
    const rows = this.#database
      .prepare(
        `SELECT * FROM projects
         WHERE deleted_at IS NULL AND (:id IS NULL OR id = :id) AND (:name IS NULL OR name = :name)
           AND (:query IS NULL OR instr(lower(name), lower(:query)) > 0)
         ORDER BY created_at DESC, id DESC LIMIT :count OFFSET :offset`,
      )
      .all({ id: id ?? null, name: name ?? null, query: query ?? null, count: limit + 1, offset }) as Row[];
    return pageOfRows(rows, toProject, { limit, offset });
  }

  /** Throws `project_not_found`, `conflict` when the new name is taken, and `last_active_project`. */
  update(id: string, { name, status }: { name?: string | undefined; status?: Project['status'] | undefined }): Project {
    const project = this.#byId(id);
    if (name !== undefined && name !== project.name) this.#refuseTakenName(name);
    if (status === 'archived') this.#refuseLast(project, 'archived');
    this.#database
      .prepare('UPDATE projects SET name = ?, status = ?, updated_at = ? WHERE id = ?')
      .run(name ?? project.name, status ?? project.status, this.#clock.now(), id);
    return this.get(id);
  }

  /** Throws `project_not_found` and `last_active_project`. That the project is empty is the caller's to see to. */
  delete(id: string): void {
    this.#refuseLast(this.#byId(id), 'deleted');
    this.#database.prepare('UPDATE projects SET deleted_at = ? WHERE id = ?').run(this.#clock.now(), id);
  }

  #byId(id: string): Project {
    const project = this.#select('id', id);
    if (!project) throw noProject(id);
    return project;
  }

  #select(column: 'id' | 'name', value: string): Project | undefined {
    const row = this.#database.prepare(`SELECT * FROM projects WHERE ${column} = ? AND deleted_at IS NULL`).get(value) as Row | undefined;
    return row && toProject(row);
  }

  #refuseTakenName(name: string): void {
    if (this.#select('name', name)) throw new OperationError('conflict', `a project named ${name} exists already: choose another name`);
  }

  #refuseLast({ id, name }: Project, change: string): void {
    const other = `SELECT 1 FROM projects WHERE ${isActive} AND id <> ? LIMIT 1`;
    if (this.#database.prepare(other).get(id) !== undefined) return;
    throw new OperationError('last_active_project', `${name} is the last active project and cannot be ${change}: create another one first`);
  }
}

function noProject(idOrName: string): OperationError {
  return new OperationError('project_not_found', `no project has the id or name ${idOrName}`);
}

function toProject({ id, name, status, created_at, updated_at }: Row): Project {
  return { id, name, status, created_at: new Date(created_at).toISOString(), updated_at: new Date(updated_at).toISOString() };
}
