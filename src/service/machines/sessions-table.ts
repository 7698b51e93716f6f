import type { Profile } from '../../contract/profiles.ts';
import { sealed, text } from '../database/columns.ts';
import { type RowOf, Table, table } from '../database/table.ts';
import type { Database } from '../database/database.ts';
import type { Secrets } from '../database/secrets.ts';
import type { Links, SessionSettings } from '../sessions/session.ts';
import type { MachineSession } from './machine-session.ts';
import { linksOf } from './session-links.ts';
import type { SentProfileRecord } from './sent-profile.ts';

const machineSessions = table('machine_sessions', {
  id: text(),
  /** The machine's URL. */
  machine: text(),
  /** A `MachineSessionState` as JSON. Encrypted, because it contains tokens. */
  state: sealed(({ id }) => `machine_sessions/${id}`),
});

/** The data that a restarted control plane needs to take over a session that still runs on a machine. */
export type MachineSessionState = {
  settings: SessionSettings;
  earlier: { createdAt: number; token: string; liveViewToken: string };
  loadedProfile?: Profile | undefined;
  links: Links;
  playwrightVersions: readonly string[];
  sent?: SentProfileRecord;
  profileVersion?: string;
  name?: string;
  tags?: Record<string, string>;
  timeoutSeconds: number;
  startUrl?: string;
  invocationId?: string;
  pool?: { id: string; name?: string };
  leasedAt?: number;
  isChanged?: boolean;
  wasReused?: boolean;
};

/** Stores the sessions of a control plane in its database, so that it can take them over after a restart. */
export class MachineSessionRecords {
  readonly #rows: Table<typeof machineSessions>;

  constructor(database: Database, secrets: Secrets) {
    this.#rows = new Table(database, machineSessions, secrets);
  }

  all(): { id: string; machine: string; state: MachineSessionState }[] {
    return this.#rows.list().map(({ id, machine, state }: RowOf<typeof machineSessions>) => ({
      id,
      machine,
      state: JSON.parse(state.open()) as MachineSessionState,
    }));
  }

  /** Stores the row of a live session, or deletes the row of an ended one. */
  keep(session: MachineSession): void {
    const { id, host } = session;
    if (!session.alive) return void this.#rows.delete({ id });
    const state = JSON.stringify(stateOf(session));
    if (this.#rows.change({ id }, { state }) === 0) this.#rows.insert({ id, machine: host.url, state });
  }
}

function stateOf(session: MachineSession): MachineSessionState {
  const { settings, createdAt, token, liveViewToken, links, playwrightVersions, sent, timeoutSeconds } = session;
  const { name, tags, startUrl, invocationId, pool, leasedAt, isChanged, wasReused } = session;
  const { profile, profileVersion, isSaved } = session;
  return {
    settings: { ...settings, saveChanges: isSaved },
    ...(profile !== settings.profile && { loadedProfile: profile }),
    earlier: { createdAt, token, liveViewToken },
    links: linksOf(links),
    playwrightVersions,
    timeoutSeconds,
    ...(sent && { sent: sent.record }),
    ...(profileVersion !== undefined && { profileVersion }),
    ...(name !== undefined && { name }),
    ...(tags && { tags }),
    ...(startUrl !== undefined && { startUrl }),
    ...(invocationId !== undefined && { invocationId }),
    ...(pool && { pool }),
    ...(leasedAt !== undefined && { leasedAt }),
    ...(isChanged && { isChanged }),
    ...(wasReused && { wasReused }),
  };
}
