import { once } from 'node:events';
import type { CanReauthReason } from '../../contract/auth-connections.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';
import { Followers } from '../followers.ts';
import { sameToken } from '../id.ts';
import { canReauth } from './can-reauth.ts';
import type { ConnectionRecord, ConnectionRecords } from './connection-record.ts';
import { type LoggedIn, LoginFailure } from './converse.ts';
import { LoginFlow, type FlowState } from './flow.ts';
import { flowEntry, recordOf } from './flow-record.ts';
import { LoginSession, type LoginSessionMeans } from './login-session.ts';
import type { LoginCredentials, StoredLogin } from './stored-login.ts';

export type LoginsOptions = {
  records: ConnectionRecords;
  credentials: LoginCredentials;
  clock: Clock;
  /** Called with the id of a connection that has logged in. */
  onLoggedIn: (id: string) => void;
} & LoginSessionMeans;

type LoginOptions = { isAttended: boolean; isRecorded: boolean; proxyId: string | undefined };

/** What a stream of events says unless nothing else is to be said for so long. */
const heartbeatMs = 15_000;
const serviceEnded = 'the service ended during the login: start another one';

/** The logins of connections, one at a time of each. What becomes of them is in the connections' records. */
export class Logins {
  readonly #options: LoginsOptions;
  /** The latest logins since the service began, by their connections. */
  readonly #flows = new Map<string, LoginFlow>();
  readonly #followers: Followers;
  #isClosing = false;

  constructor(options: LoginsOptions) {
    this.#options = options;
    this.#followers = new Followers(options.clock);
  }

  /** A login that an earlier service left has failed. */
  takeOver({ id, flow }: ConnectionRecord): void {
    if (flow?.status !== 'IN_PROGRESS') return;
    const { records, clock } = this.#options;
    const failed = { ...flow, status: 'FAILED', step: 'COMPLETED', errorCode: 'flow_failed', errorMessage: serviceEnded } as const;
    records.change(id, { flow: failed });
    records.note(flowEntry(id, failed, undefined, clock.now()));
  }

  /** The latest login of a connection since the service began. */
  latest(id: string): LoginFlow | undefined {
    return this.#flows.get(id);
  }

  /** Begins to log in. Throws `conflict` while a login is under way. */
  begin(record: ConnectionRecord, { isAttended, isRecorded, proxyId }: LoginOptions): LoginFlow {
    const { records, clock } = this.#options;
    const { id, projectId, domain, settings } = record;
    if (this.#flows.get(id)?.isRunning)
      throw new OperationError('conflict', 'a login is under way: answer what it asks, or wait for its end');
    if (this.#isClosing) throw new OperationError('unavailable', 'the service is shutting down');
    const type = this.canReauth(record).can ? 'REAUTH' : 'LOGIN';
    // Not the logins themselves: each would keep those before it in memory.
    const before = Promise.all(this.#flowsOf(record).map(({ done }) => done));
    const flow: LoginFlow = new LoginFlow({
      type,
      isAttended,
      clock,
      page: { domain, loginUrl: settings.loginUrl, postLoginUrl: record.postLoginUrl, allowedDomains: settings.allowedDomains },
      stored: (signal) => this.#stored(record, isAttended, signal),
      openSession: async (signal) => {
        // Each saves the profile, and the last one would undo what the others did.
        await Promise.race([before, once(signal, 'abort')]);
        // The profile may have been renamed meanwhile.
        const { profileName = record.profileName } = records.get(id) ?? {};
        return await LoginSession.open(this.#options, { projectId, profileName, proxyId, saveChanges: true, isRecorded, signal });
      },
      onChange: (changed) => this.#changed(record, changed),
      onLoggedIn: (loggedIn) => this.#loggedIn(record, loggedIn),
    });
    this.#flows.set(id, flow);
    records.change(id, { flow: recordOf(flow.state) });
    records.note(flowEntry(id, flow.state, undefined, clock.now()));
    this.#followers.tell(id);
    return flow;
  }

  /** The connection and the login whose page has this token. */
  byToken(token: string): { record: ConnectionRecord; flow: LoginFlow } | undefined {
    for (const [id, flow] of this.#flows) {
      const record = sameToken(token, flow.token) ? this.#options.records.get(id) : undefined;
      if (record) return { record, flow };
    }
    return undefined;
  }

  /** The latest login, or the next one where there was none: its state now, and each that comes, until it has ended; `undefined` is a sign of life. */
  async *follow(id: string, signal: AbortSignal): AsyncGenerator<{ state: FlowState; flow: LoginFlow | undefined } | undefined> {
    let followed: LoginFlow | undefined;
    let told: FlowState | undefined;
    while (!signal.aborted) {
      followed = this.#flows.get(id) ?? followed;
      const record = this.#options.records.get(id);
      const state = followed?.state ?? record?.flow;
      if (!state && !record) return;
      if (state && state !== told) {
        told = state;
        yield { state, flow: followed };
        if (state.status !== 'IN_PROGRESS') return;
      } else if (!(await this.#followers.change(id, heartbeatMs, signal)) && !signal.aborted) yield undefined;
    }
  }

  /** Whether a connection can log in again by itself. */
  canReauth({ projectId, needs, settings: { credential } }: ConnectionRecord): { can: boolean; reason: CanReauthReason } {
    const stored = credential ? this.#options.credentials.look(projectId, credential) : { exists: false, hasTotpSecret: false };
    return canReauth(needs, credential, stored);
  }

  /** Forgets a connection that is gone. */
  forget(id: string): void {
    this.#flows.delete(id);
    this.#followers.tell(id);
  }

  /** Ends all logins; none can be begun any more. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(Array.from(this.#flows.values(), (flow) => flow.end('FAILED', serviceEnded)));
  }

  /** The latest logins of a profile, wherever. */
  #flowsOf({ projectId, profileName }: ConnectionRecord): LoginFlow[] {
    return [...this.#flows].flatMap(([id, flow]) => {
      const other = this.#options.records.get(id);
      return other?.projectId === projectId && other.profileName === profileName ? [flow] : [];
    });
  }

  #changed({ id }: ConnectionRecord, flow: LoginFlow): void {
    const { records, clock } = this.#options;
    const { state } = flow;
    const isLost = state.status !== 'IN_PROGRESS' && state.status !== 'SUCCESS' && flow.wasAsked;
    try {
      records.change(id, { flow: recordOf(state), ...(isLost && { status: 'NEEDS_AUTH' }) });
      records.note(flowEntry(id, state, flow.browser, clock.now()));
    } catch (error) {
      // The login itself goes on.
      console.error(`the state of the login ${state.id} could not be stored:`, error);
    }
    this.#followers.tell(id);
  }

  /** Notes a login that succeeded, and stores what was entered where that is asked for. */
  #loggedIn({ id, projectId, profileName, domain }: ConnectionRecord, { url, needs, entered, ssoProvider }: LoggedIn): void {
    const { records, credentials } = this.#options;
    // Its settings may have changed meanwhile.
    const { settings } = records.get(id) ?? {};
    if (!settings) return;
    const { credential, saveCredentials } = settings;
    const isNew = Object.keys(entered).length > 0 || ssoProvider !== undefined;
    if (saveCredentials && isNew && (!credential || 'name' in credential)) {
      const name = credential?.name ?? `${profileName} ${domain}`;
      credentials.save(projectId, { name, domain, values: entered, ssoProvider });
      settings.credential = { name };
    }
    records.change(id, { status: 'AUTHENTICATED', postLoginUrl: url, needs, settings });
    this.#options.onLoggedIn(id);
  }

  /** What is stored for a login. Where it can't be read people are asked, if there are any. */
  async #stored(record: ConnectionRecord, isAttended: boolean, signal: AbortSignal): Promise<StoredLogin | undefined> {
    const { projectId, domain, settings } = record;
    if (!settings.credential) return undefined;
    try {
      return await this.#options.credentials.read(projectId, settings.credential, domain, signal);
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      if (isAttended) return undefined;
      throw new LoginFailure('flow_failed', `the credential can't be read: ${error.message}`);
    }
  }
}
