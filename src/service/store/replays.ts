import type { ErrorCode } from '../../contract/errors.ts';
import type { Database } from './database.ts';

type Row = {
  id: string;
  project_id: string;
  session_id: string;
  token: string;
  started_at: number;
  finished_at: number | null;
  content_type: string | null;
  failure: string | null;
  markers: string;
};

type Marker = { title: string; at_ms: number };
type Failure = { code: ErrorCode; message: string };

/** A recording; times in ms since the epoch. */
type Replay = {
  id: string;
  projectId: string;
  sessionId: string;
  token: string;
  startedAt: number;
  finishedAt: number | undefined;
  contentType: string | undefined;
  failure: Failure | undefined;
  markers: Marker[];
};

/** What is known of the recordings; the videos are files. */
export class ReplayStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  add(replay: Replay): void {
    this.#database
      .prepare(
        `INSERT INTO replays (id, project_id, session_id, token, started_at, finished_at, content_type, failure, markers)
         VALUES (:id, :project_id, :session_id, :token, :started_at, :finished_at, :content_type, :failure, :markers)`,
      )
      .run(toRow(replay));
  }

  /** Does nothing when there is no such replay any more. */
  change(id: string, changes: Partial<Omit<Replay, 'id'>>): void {
    const replay = this.get(id);
    if (!replay) return;
    this.#database
      .prepare(
        `UPDATE replays SET project_id = :project_id, session_id = :session_id, token = :token, started_at = :started_at, finished_at = :finished_at,
           content_type = :content_type, failure = :failure, markers = :markers WHERE id = :id`,
      )
      .run(toRow({ ...replay, ...changes }));
  }

  get(id: string): Replay | undefined {
    const row = this.#database.prepare('SELECT * FROM replays WHERE id = ?').get(id) as Row | undefined;
    return row && fromRow(row);
  }

  /** Oldest first. */
  ofSession(sessionId: string): Replay[] {
    const rows = this.#database.prepare('SELECT * FROM replays WHERE session_id = ? ORDER BY started_at, rowid').all(sessionId) as Row[];
    return rows.map(fromRow);
  }

  /** Oldest first. */
  all(): Replay[] {
    return (this.#database.prepare('SELECT * FROM replays ORDER BY started_at, rowid').all() as Row[]).map(fromRow);
  }

  delete(id: string): void {
    this.#database.prepare('DELETE FROM replays WHERE id = ?').run(id);
  }
}

function toRow(replay: Replay): Row {
  return {
    id: replay.id,
    project_id: replay.projectId,
    session_id: replay.sessionId,
    token: replay.token,
    started_at: replay.startedAt,
    finished_at: replay.finishedAt ?? null,
    content_type: replay.contentType ?? null,
    failure: replay.failure === undefined ? null : JSON.stringify(replay.failure),
    markers: JSON.stringify(replay.markers),
  };
}

function fromRow(row: Row): Replay {
  return {
    id: row.id,
    projectId: row.project_id,
    sessionId: row.session_id,
    token: row.token,
    startedAt: row.started_at,
    finishedAt: row.finished_at ?? undefined,
    contentType: row.content_type ?? undefined,
    failure: row.failure === null ? undefined : (JSON.parse(row.failure) as Failure),
    markers: JSON.parse(row.markers) as Marker[],
  };
}
