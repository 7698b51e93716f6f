import type { Profile } from '../../contract/profiles.ts';
import { sealed, text } from '../database/columns.ts';
import { type RowOf, Table, table } from '../database/table.ts';
import type { Database } from '../database/database.ts';
import type { Secrets } from '../database/secrets.ts';
import type { Log } from '../process/log.ts';
import { withoutProxy, type Launch } from '../sessions/launch.ts';
import type { Lease } from '../sessions/lease.ts';
import type { Links, SessionSettings } from '../sessions/session.ts';
import type { MachineSession } from './machine-session.ts';
import { linksOf } from './launch.ts';
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
  sent?: SentProfileRecord | undefined;
  profileVersion?: string | undefined;
  /** The launch options of the lease's client. */
  asked?: Launch | undefined;
  isEnding?: boolean;
} & Pick<MachineSession, 'timeoutSeconds' | 'invocationId' | 'launch'> &
  Partial<Pick<MachineSession, 'isChanged' | 'wasReused'>> &
  Pick<Lease, 'name' | 'tags' | 'startUrl' | 'endsWithSocket' | 'pool' | 'leasedAt'> &
  Partial<Pick<Lease, 'telemetry'>>;

type StoredSession = { id: string; machine: string; state: MachineSessionState };

/** Stores the sessions of a control plane in its database, so that it can take them over after a restart. */
export class MachineSessionRecords {
  readonly #rows: Table<typeof machineSessions>;
  readonly #secrets: Secrets;

  constructor(database: Database, secrets: Secrets) {
    this.#rows = new Table(database, machineSessions, secrets);
    this.#secrets = secrets;
  }

  /** Deletes the rows whose key is missing or another one. Throws if the key can't be read now. */
  all(log: Log): StoredSession[] {
    const rows = this.#rows.list();
    if (rows.length > 0) this.#secrets.load();
    return rows.flatMap(({ id, machine, state }: RowOf<typeof machineSessions>): StoredSession[] => {
      try {
        return [{ id, machine, state: JSON.parse(state.open()) as MachineSessionState }];
      } catch (error) {
        log('session_forgotten', { session: id, machine, message: String(error) });
        this.#rows.delete({ id });
        return [];
      }
    });
  }

  /** Stores the row of a session until it has ended and its profile is saved, and deletes it then. */
  keep(session: MachineSession): void {
    const { id, host } = session;
    if (session.isOver || (!session.alive && !session.savesProfile)) return void this.#rows.delete({ id });
    const state = JSON.stringify(stateOf(session));
    if (this.#rows.change({ id }, { state }) === 0) this.#rows.insert({ id, machine: host.url, state });
  }
}

/** JSON leaves out the values that are `undefined`. */
function stateOf(session: MachineSession): MachineSessionState {
  const { settings, createdAt, links, playwrightVersions, sent, profile, profileVersion, isSaved, alive } = session;
  const { timeoutSeconds, invocationId, isChanged, wasReused, launch } = session;
  const { token, liveViewToken, launch: asked } = session.lease;
  const { name, tags, startUrl, endsWithSocket, pool, leasedAt, telemetry } = session.lease;
  return {
    timeoutSeconds,
    invocationId,
    isChanged,
    wasReused,
    launch: launch && withoutProxy(launch),
    name,
    tags,
    startUrl,
    endsWithSocket,
    pool,
    leasedAt,
    telemetry,
    asked: asked && withoutProxy(asked),
    settings: { ...settings, saveChanges: isSaved },
    loadedProfile: profile === settings.profile ? undefined : profile,
    earlier: { createdAt, token, liveViewToken },
    links: linksOf(links),
    playwrightVersions,
    sent: sent?.record,
    profileVersion,
    isEnding: !alive,
  };
}
