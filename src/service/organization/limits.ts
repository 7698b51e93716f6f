import { projectLimits, type ProjectLimits, type ProjectLimitsUpdate } from '../../contract/projects.ts';
import { answerOf } from '../database/answer-of.ts';
import type { Database } from '../database/database.ts';
import { Table } from '../database/table.ts';
import { organizationTable, projectsTable } from './organization-tables.ts';

const toLimits = answerOf(projectLimits, projectsTable);

/** The caps of a project. Infinity means no cap. */
export type Caps = { sessions: number; pooledSessions: number; invocations: number };

/** Stores the limits of the organization and of its projects. */
export class LimitStore {
  /** How many browsers may run at once in all projects together. */
  readonly maxConcurrentSessions: number;
  readonly #projects: Table<typeof projectsTable>;
  readonly #organization: Table<typeof organizationTable>;
  /** Cached, because pools ask for their project's caps at each change. */
  readonly #caps = new Map<string, Caps>();

  constructor(database: Database, maxConcurrentSessions: number) {
    this.#projects = new Table(database, projectsTable);
    this.#organization = new Table(database, organizationTable);
    this.maxConcurrentSessions = maxConcurrentSessions;
  }

  /** A project's own caps. The project must exist. */
  ofProject(id: string): ProjectLimits {
    return toLimits(this.#projects.find({ id })!);
  }

  /** 0 removes a cap. A missing or null field keeps the cap. */
  update(id: string, patch: ProjectLimitsUpdate): ProjectLimits {
    this.#projects.change({ id }, changed(patch));
    this.#caps.clear();
    return this.ofProject(id);
  }

  /** The cap on browsers for each project without its own cap. */
  get defaultMaxConcurrentSessions(): number | null {
    return this.#organization.find({})!.default_project_max_concurrent_sessions ?? null;
  }

  /** Changes the cap for projects without their own. 0 removes it, null keeps it. */
  changeDefault(cap: number | null | undefined): void {
    this.#organization.change({}, changed({ default_project_max_concurrent_sessions: cap }));
    this.#caps.clear();
  }

  /** The effective caps of a project. */
  capsOf(projectId: string): Caps {
    const known = this.#caps.get(projectId);
    if (known) return known;
    const own = this.ofProject(projectId);
    const caps = {
      sessions: own.max_concurrent_sessions ?? this.defaultMaxConcurrentSessions ?? Infinity,
      pooledSessions: own.max_pooled_sessions ?? Infinity,
      invocations: own.max_concurrent_invocations ?? Infinity,
    };
    this.#caps.set(projectId, caps);
    return caps;
  }
}

function changed<T extends Record<string, number | null | undefined>>(patch: T): Partial<T> {
  const caps = Object.entries(patch).filter(([, cap]) => cap != null);
  return Object.fromEntries(caps.map(([name, cap]) => [name, cap || null])) as Partial<T>;
}
