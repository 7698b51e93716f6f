import { once } from 'node:events';
import type { CanReauthReason, CredentialSelector } from '../../contract/auth-connections.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import { Followers } from '../process/followers.ts';
import { isSigned } from '../process/links.ts';
import type { ConnectionRecord, ConnectionRecords, LoginNeed } from './connections-table.ts';
import type { LoggedIn } from './flow/converse.ts';
import { LoginError } from './reading/login-form.ts';
import { LoginFlow, type FlowState } from './flow/flow.ts';
import { flowEntry, recordOf } from './flow/flow-record.ts';
import { LoginSession, type LoginSessionDependencies } from './flow/login-session.ts';
import type { StoredCredentials } from './login-credentials.ts';
import type { StoredLogin } from './stored-login.ts';

export type LoginsOptions = {
  records: ConnectionRecords;
  credentials: StoredCredentials;
  clock: Clock;
  /** Called with the id of a connection that has logged in. */
  onLoggedIn: (id: string) => void;
} & LoginSessionDependencies;

type LoginOptions = { isAttended: boolean; isRecorded: boolean; proxyId: string | undefined };

/** The pause after which an event stream sends a heartbeat, in ms. */
const heartbeatMs = 15_000;
const serviceEnded = 'the service ended during the login: start another one';

/**
 * Starts and follows the logins of connections, one at a time for each. Their results are in the connections' records.
 */
export class Logins {
  readonly #options: LoginsOptions;
  /** The latest logins since the service started, by connection id. */
  readonly #flows = new Map<string, LoginFlow>();
  readonly #followers: Followers;
  #isClosing = false;

  constructor(options: LoginsOptions) {
    this.#options = options;
    this.#followers = new Followers(options.clock);
  }

  /** Marks a login as failed that was unfinished when an earlier run of the service ended. */
  takeOver({ id, flow }: ConnectionRecord): void {
    if (flow?.status !== 'IN_PROGRESS') return;
    const { records, clock } = this.#options;
    const failed = {
      ...flow,
      status: 'FAILED',
      step: 'COMPLETED',
      errorCode: 'flow_failed',
      errorMessage: serviceEnded,
    } as const;
    records.rows.change({ id }, { flow: failed });
    records.note(flowEntry(id, failed, undefined, clock.now()));
  }

  latest(id: string): LoginFlow | undefined {
    return this.#flows.get(id);
  }

  /** Starts a login. Throws `conflict` while another login of the connection runs, and `draining`. */
  begin(record: ConnectionRecord, { isAttended, isRecorded, proxyId }: LoginOptions): LoginFlow {
    const { records, clock, sessions } = this.#options;
    const { id, projectId, domain, settings } = record;
    if (this.#flows.get(id)?.isRunning)
      throw new OperationError('conflict', 'a login is running already: answer its questions, or wait for its end');
    if (this.#isClosing)
      throw new OperationError('unavailable', 'the service is shutting down: repeat the request when it runs again');
    if (sessions.draining) throw sessions.draining;
    const type = this.canReauth(record).can ? 'REAUTH' : 'LOGIN';
    // Only their promises: a reference to each earlier login would keep all of them in memory.
    const before = Promise.all(this.#flowsOf(record).map(({ done }) => done));
    const flow: LoginFlow = new LoginFlow({
      type,
      isAttended,
      clock,
      page: {
        domain,
        loginUrl: settings.loginUrl,
        postLoginUrl: record.postLoginUrl,
        allowedDomains: settings.allowedDomains,
      },
      stored: (signal) => this.#stored(record, isAttended, signal),
      openSession: async (signal) => {
        // Each login saves the profile, and the last save would undo the others.
        await Promise.race([before, once(signal, 'abort')]);
        // The profile may have been renamed meanwhile.
        const { profileName = record.profileName } = records.rows.find({ id }) ?? {};
        return await LoginSession.open(this.#options, {
          projectId,
          profileName,
          proxyId,
          saveChanges: true,
          isRecorded,
          signal,
        });
      },
      onChange: (changed) => this.#changed(record, changed),
      onLoggedIn: (loggedIn) => this.#loggedIn(record, loggedIn),
    });
    this.#flows.set(id, flow);
    records.rows.change({ id }, { flow: recordOf(flow.state) });
    records.note(flowEntry(id, flow.state, undefined, clock.now()));
    this.#followers.tell(id);
    return flow;
  }

  /** The connection and the login whose page a link opens. Doesn't check the link's expiry and API key. */
  byToken(token: string): { record: ConnectionRecord; flow: LoginFlow } | undefined {
    for (const [id, flow] of this.#flows) {
      const record = isSigned(token, flow.token) ? this.#options.records.rows.find({ id }) : undefined;
      if (record) return { record, flow };
    }
    return undefined;
  }

  /**
   * Yields the current state and each later one of the latest login, until its end. Without a login, waits for the next
   * one. Yields `undefined` as a heartbeat.
   */
  async *follow(
    id: string,
    signal: AbortSignal,
  ): AsyncGenerator<{ state: FlowState; flow: LoginFlow | undefined } | undefined> {
    let followed: LoginFlow | undefined;
    let told: FlowState | undefined;
    while (!signal.aborted) {
      followed = this.#flows.get(id) ?? followed;
      const record = this.#options.records.rows.find({ id });
      const state = followed?.state ?? record?.flow;
      if (!state && !record) return;
      if (state && state !== told) {
        told = state;
        yield { state, flow: followed };
        if (state.status !== 'IN_PROGRESS') return;
      } else if (!(await this.#followers.change(id, heartbeatMs, signal)) && !signal.aborted) yield undefined;
    }
  }

  canReauth({ projectId, needs, settings: { credential, grantedDomains } }: ConnectionRecord): {
    can: boolean;
    reason: CanReauthReason;
  } {
    const stored = credential
      ? this.#options.credentials.inspect(projectId, credential, grantedDomains !== undefined)
      : { exists: false, hasTotpSecret: false };
    return canReauth(needs, credential, stored);
  }

  forget(id: string): void {
    this.#flows.delete(id);
    this.#followers.tell(id);
  }

  /** Ends all logins and refuses new ones. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(Array.from(this.#flows.values(), (flow) => flow.end('FAILED', serviceEnded)));
  }

  /** The latest logins of a profile, to any domain. */
  #flowsOf({ projectId, profileName }: ConnectionRecord): LoginFlow[] {
    return [...this.#flows].flatMap(([id, flow]) => {
      const other = this.#options.records.rows.find({ id });
      return other?.projectId === projectId && other.profileName === profileName ? [flow] : [];
    });
  }

  #changed({ id }: ConnectionRecord, flow: LoginFlow): void {
    const { records, clock } = this.#options;
    const { state } = flow;
    const isLost = state.status !== 'IN_PROGRESS' && state.status !== 'SUCCESS' && flow.wasAsked;
    try {
      records.rows.change({ id }, { flow: recordOf(state), ...(isLost && { status: 'NEEDS_AUTH' }) });
      records.note(flowEntry(id, state, flow.browser, clock.now()));
    } catch (error) {
      // The login itself continues.
      console.error(`the state of the login ${state.id} could not be stored:`, error);
    }
    this.#followers.tell(id);
  }

  /** Records a successful login. Stores the entered values if the connection is set to do so. */
  #loggedIn(
    { id, projectId, profileName, domain }: ConnectionRecord,
    { url, needs, entered, ssoProvider }: LoggedIn,
  ): void {
    const { records, credentials } = this.#options;
    // The connection's settings may have changed meanwhile.
    const { settings } = records.rows.find({ id }) ?? {};
    if (!settings) return;
    const { credential, saveCredentials } = settings;
    const isNew = entered.length > 0 || ssoProvider !== undefined;
    if (saveCredentials && isNew && (!credential || 'name' in credential)) {
      const name = credential?.name ?? `${profileName} ${domain}`;
      credentials.save(projectId, { name, domain, entered, ssoProvider });
      settings.credential = { name };
    }
    records.rows.change({ id }, { status: 'AUTHENTICATED', postLoginUrl: url, needs, settings });
    this.#options.onLoggedIn(id);
  }

  /** The stored values for a login. If reading them fails, a person is asked; without a person the login fails. */
  async #stored(record: ConnectionRecord, isAttended: boolean, signal: AbortSignal): Promise<StoredLogin | undefined> {
    const { credential } = record.settings;
    if (!credential) return undefined;
    try {
      return await this.#options.credentials.read(record, credential, signal);
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      if (isAttended) return undefined;
      throw new LoginError('flow_failed', `the credential can't be read: ${error.message}`);
    }
  }
}

/** Whether a connection can log in again by itself, and the reason. */
export function canReauth(
  needs: readonly LoginNeed[] | undefined,
  credential: CredentialSelector | undefined,
  stored: { exists: boolean; hasTotpSecret: boolean },
): { can: boolean; reason: CanReauthReason } {
  if (needs === undefined) return no('no_prior_successful_login');
  if (!credential || !stored.exists) return no('no_credential');
  if (needs.includes('external_action')) return no('requires_external_action');
  if (needs.includes('sms')) return no('requires_sms_code');
  if (needs.includes('email')) return no('requires_email_code');
  if (needs.includes('totp') && !stored.hasTotpSecret) return no('requires_totp_without_secret');
  if ('provider' in credential) return { can: true, reason: 'external_credential' };
  return { can: true, reason: needs.length === 0 ? 'has_credential' : 'requirements_satisfiable' };
}

function no(reason: CanReauthReason) {
  return { can: false, reason };
}
