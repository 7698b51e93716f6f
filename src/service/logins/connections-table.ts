import type { AuthStatus, CredentialSelector, TimelineItem } from '../../contract/auth-connections.ts';
import type { FlowStatus, FlowStep, FlowType } from '../../contract/login-flow.ts';
import { json, optional, text, time } from '../database/columns.ts';
import type { Database } from '../database/database.ts';
import { type RowOf, Table, table } from '../database/table.ts';

export type ConnectionSettings = {
  loginUrl?: string | undefined;
  credential?: CredentialSelector | undefined;
  /** Set if an organization key chose the provider's credential: the further domains where its items may be typed. */
  grantedDomains?: string[] | undefined;
  proxyId?: string | undefined;
  allowedDomains: string[];
  /** In seconds. */
  healthCheckInterval: number;
  healthChecks: boolean;
  autoReauth: boolean;
  saveCredentials: boolean;
  recordSession: boolean;
};

/** A step of a login for which a stored password isn't enough. */
export type LoginNeed = 'totp' | 'sms' | 'email' | 'external_action';

/** The state of a login. It stays after the login's end. */
export type FlowRecord = {
  id: string;
  type: FlowType;
  status: FlowStatus;
  step: FlowStep;
  startedAt: number;
  expiresAt: number;
  errorCode?: string | undefined;
  errorMessage?: string | undefined;
  /** The latest error text of the site. */
  websiteError?: string | undefined;
  /** The SSO provider whose button continues the login. */
  ssoProvider?: string | undefined;
};

/** Profiles that stay logged in to a domain. */
export const connectionsTable = table('auth_connections', {
  id: text(),
  projectId: text(),
  /** If the profile was deleted, the next login creates another one of this name. */
  profileName: text(),
  /** With its port, unless that is the default. */
  domain: text(),
  status: text<AuthStatus>(),
  settings: json<ConnectionSettings>(),
  /** The page that the latest login landed on. */
  postLoginUrl: optional(text()),
  /** The time of the latest health check. */
  checkedAt: optional(time()),
  /** The needs of the latest successful login; `undefined` before the first one. */
  needs: optional(json<LoginNeed[]>()),
  /** The latest login. */
  flow: optional(json<FlowRecord>()),
  createdAt: time(),
}).with({ rules: ['UNIQUE (project_id, profile_name, domain)'] });

/** The timelines of connections. */
export const eventsTable = table('auth_events', {
  id: text(),
  connectionId: text(),
  type: text<TimelineItem['type']>(),
  at: time(),
  details: json<Partial<Omit<TimelineItem, 'id' | 'type' | 'timestamp'>> & Pick<TimelineItem, 'status'>>(),
}).with({
  rules: ['FOREIGN KEY (connection_id) REFERENCES auth_connections ON DELETE CASCADE'],
  once: 'CREATE INDEX auth_events_of_connection ON auth_events (connection_id)',
});

/** Connections name profiles, credentials and providers, so they follow a new name. */
const renaming = `
  CREATE TRIGGER IF NOT EXISTS auth_connections_of_profile AFTER UPDATE OF name ON profiles BEGIN
    UPDATE auth_connections SET profile_name = new.name
    WHERE project_id = new.project_id AND profile_name = old.name;
  END;
  CREATE TRIGGER IF NOT EXISTS auth_connections_of_credential AFTER UPDATE OF name ON credentials BEGIN
    UPDATE auth_connections SET settings = json_set(settings, '$.credential.name', new.name)
    WHERE project_id = new.project_id AND settings ->> '$.credential.name' = old.name;
  END;
  CREATE TRIGGER IF NOT EXISTS auth_connections_of_provider AFTER UPDATE OF name ON credential_providers BEGIN
    UPDATE auth_connections SET settings = json_set(settings, '$.credential.provider', new.name)
    WHERE settings ->> '$.credential.provider' = old.name;
  END;`;

export type ConnectionRecord = RowOf<typeof connectionsTable>;
export type TimelineEntry = RowOf<typeof eventsTable>;

/**
 * The stored auth connections of all projects, and their timelines. They hold nothing that was entered in a form. The
 * tables of profiles, credentials and providers must exist.
 */
export class ConnectionRecords {
  readonly rows: Table<typeof connectionsTable>;
  readonly events: Table<typeof eventsTable>;

  constructor(database: Database) {
    this.rows = new Table(database, connectionsTable);
    this.events = new Table(database, eventsTable);
    database.exec(renaming);
  }

  /**
   * Adds an entry to the timeline, or replaces the details of the entry with the same id. Does nothing if there is no
   * such connection any more.
   */
  note(entry: TimelineEntry): void {
    const { id, connectionId, details } = entry;
    const isKnown = this.events.change({ id }, { details }) > 0;
    if (!isKnown && this.rows.find({ id: connectionId })) this.events.insert(entry);
  }
}
