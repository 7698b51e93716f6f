import { OperationError } from '../../contract/errors.ts';
import type { BodyOutput, ListPage, QueryOutput } from '../../contract/operation.ts';
import { project, type Project, type projects } from '../../contract/projects.ts';
import type { ApiKeyIdentity } from '../http/handler.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import { answerOf } from '../database/answer-of.ts';
import type { Database } from '../database/database.ts';
import { contains, Table } from '../database/table.ts';
import { projectsTable } from './organization-tables.ts';

const toProject = answerOf(project, projectsTable);
const active = { status: 'active', deleted_at: null } as const;

/** Stores the projects of the organization. At least one is active. Deleted projects stay stored and are never shown. */
export class ProjectStore {
  readonly #rows: Table<typeof projectsTable>;
  readonly #clock: Clock;
  /** The ids of the active projects, oldest first. Cached, because each request needs them twice. */
  #active: Set<string> | undefined;

  constructor(database: Database, clock: Clock) {
    this.#rows = new Table(database, projectsTable);
    this.#clock = clock;
  }

  /** The id of the default project: the oldest active one. */
  defaultId(): string {
    const [oldest] = this.#activeIds();
    return oldest!;
  }

  /** Whether the project exists and is neither archived nor deleted. */
  isActive(id: string): boolean {
    return this.#activeIds().has(id);
  }

  /** The project's name, or its id if it doesn't exist. */
  nameOf(id: string): string {
    return this.#rows.find({ id })?.name ?? id;
  }

  /** Throws `project_not_found` unless the project is active. */
  refuseInactive(id: string): void {
    if (!this.isActive(id))
      throw new OperationError('project_not_found', `there is no active project with the id ${id}`);
  }

  /** Throws `conflict` if the name is taken. */
  create(body: BodyOutput<typeof projects.create>): Project {
    this.#refuseTakenName(body.name);
    const now = this.#clock.now();
    this.#active = undefined;
    return toProject(this.#rows.insert({ ...body, id: newId(), status: 'active', created_at: now, updated_at: now }));
  }

  /** Finds a project by id, else by name. Throws `project_not_found`. */
  get(idOrName: string): Project {
    const row =
      this.#rows.find({ id: idOrName, deleted_at: null }) ?? this.#rows.find({ name: idOrName, deleted_at: null });
    if (!row) throw noProject(idOrName);
    return toProject(row);
  }

  /** Newest first. `query` is part of a name, `name` an exact name. With `id`, lists that project only. */
  list({ name, id, ...page }: QueryOutput<typeof projects.list> & { id?: string }): ListPage<Project> {
    const options = { ...page, search: contains('name'), order: 'created_at DESC, id DESC' };
    return this.#rows.page({ deleted_at: null, id, name }, options, toProject);
  }

  /** Throws `project_not_found`, `conflict` if the new name is taken, and `last_active_project`. */
  update(id: string, body: BodyOutput<typeof projects.update>): Project {
    const project = this.#byId(id);
    if (body.name !== undefined && body.name !== project.name) this.#refuseTakenName(body.name);
    if (body.status === 'archived') this.#refuseLast(project, 'archived');
    this.#rows.change({ id }, { ...body, updated_at: this.#clock.now() });
    this.#active = undefined;
    return this.get(id);
  }

  /** Throws `project_not_found` and `last_active_project`. The caller must check that the project is empty. */
  delete(id: string): void {
    this.#refuseLast(this.#byId(id), 'deleted');
    this.#rows.change({ id }, { deleted_at: this.#clock.now() });
    this.#active = undefined;
  }

  /** The project of a request: the key's, else the one that the caller chose by a header, else the default project. */
  projectOf({ projectId }: ApiKeyIdentity, chosen: string | undefined): string {
    if (projectId !== undefined && chosen !== undefined && chosen !== projectId) {
      throw new OperationError(
        'forbidden',
        `the API key belongs to the project ${projectId}, but X-Kernel-Project-Id names ${chosen}: leave the header out`,
      );
    }
    const id = projectId ?? chosen;
    // The default project is always active.
    if (id === undefined) return this.defaultId();
    this.refuseInactive(id);
    return id;
  }

  #activeIds(): Set<string> {
    return (this.#active ??= new Set(this.#rows.list(active).map(({ id }) => id)));
  }

  #byId(id: string): Project {
    const row = this.#rows.find({ id, deleted_at: null });
    if (!row) throw noProject(id);
    return toProject(row);
  }

  #refuseTakenName(name: string): void {
    if (!this.#rows.find({ name, deleted_at: null })) return;
    throw new OperationError('conflict', `a project named ${name} exists already: choose another name`);
  }

  #refuseLast({ id, name }: Project, change: string): void {
    if (this.#rows.list(active).some((other) => other.id !== id)) return;
    throw new OperationError(
      'last_active_project',
      `${name} is the last active project and cannot be ${change}: create another one first`,
    );
  }
}

/** The error for an id or name that no project has. */
function noProject(idOrName: string): OperationError {
  return new OperationError('project_not_found', `no project has the id or name ${idOrName}`);
}
