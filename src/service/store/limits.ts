import type { ProjectLimits, ProjectLimitsUpdate } from '../../contract/projects.ts';
import type { Database } from './database.ts';

/** What a project may have at once; Infinity where there is no cap. */
export type Caps = { sessions: number; pooledSessions: number; invocations: number };

/** The limits of the organization and of its projects. */
export class LimitStore {
  /** How many browsers may run at once in all projects together. */
  readonly maxConcurrentSessions: number;
  readonly #database: Database;

  constructor(database: Database, maxConcurrentSessions: number) {
    this.#database = database;
    this.maxConcurrentSessions = maxConcurrentSessions;
  }

  /** The caps that a project has of its own. There must be such a project. */
  ofProject(id: string): ProjectLimits {
    const row = this.#database.prepare('SELECT * FROM projects WHERE id = ?').get(id) as ProjectLimits;
    const { max_concurrent_sessions, max_concurrent_invocations, max_pooled_sessions } = row;
    return { max_concurrent_sessions, max_concurrent_invocations, max_pooled_sessions };
  }

  /** 0 removes a cap; what is missing or null stays. */
  update(id: string, patch: ProjectLimitsUpdate): ProjectLimits {
    const limits = { ...this.ofProject(id) };
    for (const field of ['max_concurrent_sessions', 'max_concurrent_invocations', 'max_pooled_sessions'] as const) {
      limits[field] = changed(limits[field], patch[field]);
    }
    this.#database
      .prepare(
        `UPDATE projects SET max_concurrent_sessions = :max_concurrent_sessions, max_concurrent_invocations = :max_concurrent_invocations,
           max_pooled_sessions = :max_pooled_sessions WHERE id = :id`,
      )
      .run({ ...limits, id });
    return limits;
  }

  /** The cap on the browsers of each project that has none of its own. */
  get defaultMaxConcurrentSessions(): number | null {
    const row = this.#database.prepare('SELECT default_project_max_concurrent_sessions AS cap FROM organization').get();
    return (row as { cap: number | null }).cap;
  }

  /** As `update`. */
  changeDefault(cap: number | null | undefined): void {
    this.#database
      .prepare('UPDATE organization SET default_project_max_concurrent_sessions = :cap')
      .run({ cap: changed(this.defaultMaxConcurrentSessions, cap) });
  }

  /** What holds for a project. */
  capsOf(projectId: string): Caps {
    const own = this.ofProject(projectId);
    return {
      sessions: own.max_concurrent_sessions ?? this.defaultMaxConcurrentSessions ?? Infinity,
      pooledSessions: own.max_pooled_sessions ?? Infinity,
      invocations: own.max_concurrent_invocations ?? Infinity,
    };
  }
}

function changed(before: number | null, patch: number | null | undefined): number | null {
  return patch === 0 ? null : (patch ?? before);
}
