import type { Engine } from './values.ts';

/** The events of `GET /dashboard/events`: a snapshot first, then changes. */
export type DashboardEvent =
  | ({ type: 'snapshot'; history: HistorySample[] } & DashboardState)
  | ({ type: 'change'; now: number } & StateChange);

/** The values that changed, and the changes of lists. */
export type StateChange = Partial<Pick<DashboardState, 'service' | 'counts'>> & {
  [List in 'machines' | 'pools' | 'sessions' | 'ended']?: Changes<DashboardState[List][number]>;
};

/** Changed entries of a list, with new ones, and the ids of removed ones. New entries come last. */
export type Changes<T> = { changed: T[]; removed: string[] };

/**
 * The state of the service that the dashboard shows. An organization key sees all of it, a project's key only its project.
 * Times are in ms since the epoch.
 */
export type DashboardState = {
  /** The service's time. */
  now: number;
  service: ServiceState;
  counts: Counts;
  machines: MachineState[];
  pools: PoolState[];
  sessions: SessionState[];
  /** Leases and single sessions that ended, newest first. */
  ended: EndedState[];
};

export type ServiceState = {
  version: string;
  /** The name of the caller's API key. */
  key: string;
  /** The only project of the key; `undefined` for an organization key. */
  project_id?: string;
  projects: { id: string; name: string }[];
  /** Whether sessions run on other machines. */
  is_control_plane: boolean;
  draining: boolean;
};

export type Counts = { leased: number; starting: number; waiting: number; free: number; draining: number };

/** The counts at one time. They are valid until the next sample. */
export type HistorySample = Counts & { at: number };

export type SessionState = {
  id: string;
  /** `leased` also for sessions outside pools. */
  state: 'leased' | 'free';
  project_id: string;
  name?: string;
  pool?: { id: string; name?: string };
  machine?: string;
  profile?: string;
  created_at: number;
  leased_at?: number;
} & LeaseLabels;

export type EndedState = {
  id: string;
  session_id: string;
  project_id: string;
  name?: string;
  pool?: { id: string; name?: string };
  machine?: string;
  leased_at: number;
  ended_at: number;
  /** Such as `recycled`, `idle_timeout` or `machine_lost`. */
  reason: string;
} & LeaseLabels;

/** The test of a session, from its tags, and its other tags. */
export type LeaseLabels = {
  test?: string;
  /** The tests of the lease before that one. */
  earlier_tests?: string[];
  file?: string;
  run?: string;
  worker?: string;
  /** The client of a lease by URL. */
  client?: string;
  tags?: Record<string, string>;
};

export type PoolState = {
  id: string;
  project_id: string;
  name?: string;
  /** Missing for chromium. */
  engine?: Engine;
  size: number;
  leased: number;
  free: number;
  starting: number;
  waiting: number;
  oldest_wait_at?: number;
  wait_reason?: string;
  profile?: string;
};

export type MachineState = {
  /** The machine's URL, or `local` for the service's own machine. */
  id: string;
  state: 'up' | 'silent' | 'draining';
  /** Only for the service for overflow. */
  is_overflow?: true;
  /** Its browsers: a line of text each, which begins with name and version. */
  engines: string[];
  /** How many sessions it may have; missing if the key may not know. */
  slots?: number;
  /** Sessions that the key may see. */
  leased: number;
  free: number;
};
