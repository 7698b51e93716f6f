import type { AuthStatus, CredentialSelector, FlowStatus, FlowStep, FlowType, TimelineItem } from '../../contract/auth-connections.ts';

export type ConnectionSettings = {
  loginUrl?: string | undefined;
  credential?: CredentialSelector | undefined;
  proxyId?: string | undefined;
  allowedDomains: string[];
  /** In seconds. */
  healthCheckInterval: number;
  healthChecks: boolean;
  autoReauth: boolean;
  saveCredentials: boolean;
  recordSession: boolean;
};

/** What a login needed beside what a credential holds. */
export type LoginNeed = 'totp' | 'sms' | 'email' | 'external_action';

/** What is known of a login, also when it has long ended. */
export type FlowRecord = {
  id: string;
  type: FlowType;
  status: FlowStatus;
  step: FlowStep;
  startedAt: number;
  expiresAt: number;
  errorCode?: string | undefined;
  errorMessage?: string | undefined;
  /** The error text that the site shows, or showed last. */
  websiteError?: string | undefined;
  /** The button by which it goes on elsewhere. */
  ssoProvider?: string | undefined;
};

/** A profile that stays logged in to a domain. Times are in ms since the epoch. */
export type ConnectionRecord = {
  id: string;
  projectId: string;
  /** Where the profile was deleted, the next login makes another one of this name. */
  profileName: string;
  /** With its port, where that is not the usual one. */
  domain: string;
  status: AuthStatus;
  settings: ConnectionSettings;
  /** Where the latest login landed. */
  postLoginUrl: string | undefined;
  /** When the latest health check was. */
  checkedAt: number | undefined;
  /** What the latest successful login needed; `undefined` when there was none. */
  needs: LoginNeed[] | undefined;
  /** The latest one. */
  flow: FlowRecord | undefined;
  createdAt: number;
};

export type TimelineEntry = {
  id: string;
  connectionId: string;
  type: TimelineItem['type'];
  at: number;
  /** What the timeline tells of it besides. */
  details: Partial<Omit<TimelineItem, 'id' | 'type' | 'timestamp'>> & Pick<TimelineItem, 'status'>;
};

/** Where the records are kept. */
export type ConnectionRecords = {
  /** Throws `already_exists` when the profile has a connection to the domain. */
  add(record: ConnectionRecord): void;
  change(id: string, changes: Partial<Omit<ConnectionRecord, 'id'>>): void;
  get(id: string): ConnectionRecord | undefined;
  all(): ConnectionRecord[];
  delete(id: string): void;
  note(entry: TimelineEntry): void;
  deleteBefore(time: number): void;
};
