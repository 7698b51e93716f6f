import type { AuthStatus, CredentialSelector, FlowStatus, FlowStep, FlowType, TimelineItem } from '../../contract/auth-connections.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Page } from '../../contract/operation.ts';
import type { Database } from './database.ts';
import { pageOfRows } from './page.ts';

type Need = 'totp' | 'sms' | 'email' | 'external_action';

/** Times are in ms since the epoch, the interval in seconds. */
type Connection = {
  id: string;
  projectId: string;
  profileName: string;
  domain: string;
  status: AuthStatus;
  settings: {
    loginUrl?: string | undefined;
    credential?: CredentialSelector | undefined;
    proxyId?: string | undefined;
    allowedDomains: string[];
    healthCheckInterval: number;
    healthChecks: boolean;
    autoReauth: boolean;
    saveCredentials: boolean;
    recordSession: boolean;
  };
  postLoginUrl: string | undefined;
  checkedAt: number | undefined;
  needs: Need[] | undefined;
  flow:
    | {
        id: string;
        type: FlowType;
        status: FlowStatus;
        step: FlowStep;
        startedAt: number;
        expiresAt: number;
        errorCode?: string | undefined;
        errorMessage?: string | undefined;
        websiteError?: string | undefined;
        ssoProvider?: string | undefined;
      }
    | undefined;
  createdAt: number;
};

type TimelineEntry = {
  id: string;
  connectionId: string;
  type: TimelineItem['type'];
  at: number;
  details: Partial<Omit<TimelineItem, 'id' | 'type' | 'timestamp'>> & Pick<TimelineItem, 'status'>;
};

type Row = {
  id: string;
  project_id: string;
  profile_name: string;
  domain: string;
  status: AuthStatus;
  settings: string;
  post_login_url: string | null;
  checked_at: number | null;
  needs: string | null;
  flow: string | null;
  created_at: number;
};

type TimelineRow = { id: string; connection_id: string; type: TimelineItem['type']; at: number; details: string };

type Filter = {
  projectId: string;
  limit: number;
  offset: number;
  profileName?: string | undefined;
  domain?: string | undefined;
  query?: string | undefined;
};

/** The auth connections of all projects, and what has happened to them. It holds nothing of what was entered anywhere. */
export class AuthConnectionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Throws `already_exists` when the profile has a connection to the domain. */
  add(connection: Connection): void {
    const { changes } = this.#database
      .prepare(
        `INSERT INTO auth_connections (id, project_id, profile_name, domain, status, settings, post_login_url, checked_at, needs, flow, created_at)
         VALUES (:id, :project_id, :profile_name, :domain, :status, :settings, :post_login_url, :checked_at, :needs, :flow, :created_at)
         ON CONFLICT (project_id, profile_name, domain) DO NOTHING`,
      )
      .run(toRow(connection));
    if (changes > 0) return;
    const { projectId, profileName, domain } = connection;
    const [existing] = this.list({ projectId, profileName, domain, limit: 1, offset: 0 }).items;
    throw new OperationError('already_exists', `the profile ${profileName} has an auth connection to ${domain} already`, {
      ...(existing && { existingId: existing.id }),
    });
  }

  /** Does nothing when there is no such connection any more. */
  change(id: string, changes: Partial<Omit<Connection, 'id'>>): void {
    const connection = this.get(id);
    if (!connection) return;
    const { project_id: _, profile_name: _name, domain: _domain, created_at: _at, ...row } = toRow({ ...connection, ...changes });
    this.#database
      .prepare(
        `UPDATE auth_connections SET status = :status, settings = :settings, post_login_url = :post_login_url, checked_at = :checked_at,
           needs = :needs, flow = :flow WHERE id = :id`,
      )
      .run(row);
  }

  get(id: string): Connection | undefined {
    const row = this.#database.prepare('SELECT * FROM auth_connections WHERE id = ?').get(id) as Row | undefined;
    return row && fromRow(row);
  }

  all(): Connection[] {
    return (this.#database.prepare('SELECT * FROM auth_connections ORDER BY created_at, rowid').all() as Row[]).map(fromRow);
  }

  /** Newest first. `query` is part of the id, domain or profile name, the others are exact. */
  list({ projectId, limit, offset, ...filter }: Filter): Page<Connection> {
    const rows = this.#database
      .prepare(
        `SELECT * FROM auth_connections
         WHERE project_id = :project AND (:profile IS NULL OR profile_name = :profile) AND (:domain IS NULL OR domain = :domain)
           AND (:query IS NULL OR instr(id, lower(:query)) > 0 OR instr(domain, lower(:query)) > 0
             OR instr(lower(profile_name), lower(:query)) > 0)
         ORDER BY created_at DESC, rowid DESC LIMIT :count OFFSET :offset`,
      )
      .all({
        project: projectId,
        profile: filter.profileName ?? null,
        domain: filter.domain ?? null,
        query: filter.query ?? null,
        count: limit + 1,
        offset,
      }) as Row[];
    return pageOfRows(rows, fromRow, { limit, offset });
  }

  countOf(projectId: string): number {
    const row = this.#database.prepare('SELECT count(*) AS count FROM auth_connections WHERE project_id = ?').get(projectId);
    return (row as { count: number }).count;
  }

  /** With its timeline. */
  delete(id: string): void {
    this.#database.prepare('DELETE FROM auth_connections WHERE id = ?').run(id);
  }

  /** Adds an entry to the timeline, or replaces the one with its id. Does nothing when there is no such connection any more. */
  note({ id, connectionId, type, at, details }: TimelineEntry): void {
    this.#database
      .prepare(
        `INSERT INTO auth_events (id, connection_id, type, at, details) SELECT :id, id, :type, :at, :details FROM auth_connections
         WHERE id = :connection ON CONFLICT (id) DO UPDATE SET details = excluded.details`,
      )
      .run({ id, connection: connectionId, type, at, details: JSON.stringify(details) });
  }

  /** Newest first. */
  timeline(
    connectionId: string,
    { type, limit, offset }: { type?: string | undefined; limit: number; offset: number },
  ): Page<TimelineEntry> {
    const rows = this.#database
      .prepare(
        `SELECT id, connection_id, type, at, details FROM auth_events WHERE connection_id = :connection AND (:type IS NULL OR type = :type)
         ORDER BY rowid DESC LIMIT :count OFFSET :offset`,
      )
      .all({ connection: connectionId, type: type ?? null, count: limit + 1, offset }) as TimelineRow[];
    return pageOfRows(rows, toEntry, { limit, offset });
  }

  /** Deletes what happened before `time`. */
  deleteBefore(time: number): void {
    this.#database.prepare('DELETE FROM auth_events WHERE at < ?').run(time);
  }
}

function toRow(connection: Connection): Row {
  return {
    id: connection.id,
    project_id: connection.projectId,
    profile_name: connection.profileName,
    domain: connection.domain,
    status: connection.status,
    settings: JSON.stringify(connection.settings),
    post_login_url: connection.postLoginUrl ?? null,
    checked_at: connection.checkedAt ?? null,
    needs: connection.needs === undefined ? null : JSON.stringify(connection.needs),
    flow: connection.flow === undefined ? null : JSON.stringify(connection.flow),
    created_at: connection.createdAt,
  };
}

function fromRow(row: Row): Connection {
  return {
    id: row.id,
    projectId: row.project_id,
    profileName: row.profile_name,
    domain: row.domain,
    status: row.status,
    settings: JSON.parse(row.settings) as Connection['settings'],
    postLoginUrl: row.post_login_url ?? undefined,
    checkedAt: row.checked_at ?? undefined,
    needs: row.needs === null ? undefined : (JSON.parse(row.needs) as Need[]),
    flow: row.flow === null ? undefined : (JSON.parse(row.flow) as NonNullable<Connection['flow']>),
    createdAt: row.created_at,
  };
}

function toEntry({ id, connection_id: connectionId, type, at, details }: TimelineRow): TimelineEntry {
  return { id, connectionId, type, at, details: JSON.parse(details) as TimelineEntry['details'] };
}
