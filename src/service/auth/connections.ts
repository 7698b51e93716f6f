import { once } from 'node:events';
import type {
  AuthConnectionCreate,
  AuthConnectionUpdate,
  CanReauthReason,
  ProxySelector,
  Submission,
} from '../../contract/auth-connections.ts';
import { invalidField, OperationError } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';
import { newId, sameToken } from '../id.ts';
import { canReauth } from './can-reauth.ts';
import type { ConnectionRecord, ConnectionRecords, ConnectionSettings } from './connection-record.ts';
import { type LoggedIn, LoginFailure } from './converse.ts';
import { LoginFlow, type FlowState } from './flow.ts';
import { flowEntry, recordOf } from './flow-record.ts';
import { Followers } from './followers.ts';
import { checkHealth } from './health-check.ts';
import { HealthChecks } from './health-checks.ts';
import { LoginSession, type LoginSessionMeans } from './login-session.ts';
import type { LoginCredentials, StoredLogin } from './stored-login.ts';

export type AuthConnectionsOptions = {
  records: ConnectionRecords;
  credentials: LoginCredentials;
  clock: Clock;
  /** Finds the proxy that a request names, by its id or name. Throws `bad_request`. */
  proxyIdOf: (projectId: string, selector: ProxySelector) => string;
} & LoginSessionMeans;

/** A connection with its latest login, while that is known. */
export type Connection = { record: ConnectionRecord; flow: LoginFlow | undefined };

type LoginOptions = { isAttended: boolean; isRecorded: boolean; proxyId: string | undefined };

/** How long the timeline is kept. */
const keptMs = 90 * 24 * 3600 * 1000;
/** What a stream of events says unless nothing else is to be said for so long. */
const heartbeatMs = 15_000;
const serviceEnded = 'the service ended during the login: start another one';

/** Profiles that stay logged in: their logins, and the checks whether they still are. */
export class AuthConnections {
  readonly #options: AuthConnectionsOptions;
  readonly #checks: HealthChecks;
  /** The latest logins since the service began. */
  readonly #flows = new Map<string, LoginFlow>();
  readonly #followers: Followers;
  /** Those that are about to go. */
  readonly #deleting = new Set<string>();
  #isClosing = false;

  constructor(options: AuthConnectionsOptions) {
    this.#options = options;
    this.#followers = new Followers(options.clock);
    this.#checks = new HealthChecks(options.clock, (id, signal) => this.#check(id, signal));
  }

  /** Takes over what an earlier service left: its logins have failed. */
  open(): void {
    const { records, clock } = this.#options;
    records.deleteBefore(clock.now() - keptMs);
    for (const record of records.all()) {
      const { id, flow, settings } = record;
      if (flow?.status === 'IN_PROGRESS') {
        const failed = { status: 'FAILED', step: 'COMPLETED', errorCode: 'flow_failed', errorMessage: serviceEnded } as const;
        records.change(id, { flow: { ...flow, ...failed } });
        records.note(flowEntry(id, { ...flow, ...failed }, undefined, clock.now()));
      }
      if (settings.healthChecks) this.#checks.resume(id, (record.checkedAt ?? record.createdAt) + settings.healthCheckInterval * 1000);
    }
  }

  /** Throws `already_exists`, and `bad_request` for a credential that there is not. */
  create(projectId: string, request: AuthConnectionCreate): Connection {
    const { records, clock, ensureProfile } = this.#options;
    const record: ConnectionRecord = {
      id: newId(),
      projectId,
      profileName: request.profile_name,
      domain: request.domain,
      status: 'NEEDS_AUTH',
      settings: {
        loginUrl: request.login_url,
        credential: this.#existing(projectId, request.credential),
        proxyId: this.#proxyId(projectId, request.proxy),
        allowedDomains: request.allowed_domains,
        healthCheckInterval: request.health_check_interval,
        healthChecks: request.health_checks,
        autoReauth: request.auto_reauth,
        saveCredentials: request.save_credentials,
        recordSession: request.record_session,
      },
      postLoginUrl: undefined,
      checkedAt: undefined,
      needs: undefined,
      flow: undefined,
      createdAt: clock.now(),
    };
    records.add(record);
    ensureProfile(projectId, record.profileName);
    this.#planCheck(record);
    return this.get(projectId, record.id);
  }

  /** Throws `not_found`. */
  get(projectId: string, id: string): Connection {
    const connection = this.find(projectId, id);
    if (!connection) throw new OperationError('not_found', `there is no auth connection ${id}`);
    return connection;
  }

  /** `undefined` when there is none, and while it is being deleted. */
  find(projectId: string, id: string): Connection | undefined {
    const record = this.#options.records.get(id);
    const flow = this.#flows.get(id);
    if (record?.projectId !== projectId || this.#deleting.has(id)) return undefined;
    // It may be over, and nobody has noticed.
    return flow?.isRunning === false ? { record: this.#options.records.get(id)!, flow } : { record, flow };
  }

  /** Changes what is given. Throws `not_found`, and `bad_request` for a credential that there is not. */
  update(projectId: string, id: string, patch: AuthConnectionUpdate): Connection {
    const { record } = this.get(projectId, id);
    const given: { [K in keyof ConnectionSettings]?: ConnectionSettings[K] | undefined } = {
      credential: this.#existing(projectId, patch.credential),
      proxyId: this.#proxyId(projectId, patch.proxy),
      allowedDomains: patch.allowed_domains,
      healthCheckInterval: patch.health_check_interval,
      healthChecks: patch.health_checks,
      autoReauth: patch.auto_reauth,
      saveCredentials: patch.save_credentials,
      recordSession: patch.record_session,
      loginUrl: patch.login_url,
    };
    const settings = { ...record.settings, ...defined(given) };
    if (patch.login_url === '') settings.loginUrl = undefined;
    this.#options.records.change(id, { settings });
    const changed = this.get(projectId, id);
    if (patch.health_checks !== undefined || patch.health_check_interval !== undefined) this.#planCheck(changed.record);
    return changed;
  }

  /** Cancels what is under way, and deletes the connection once that has ended. Throws `not_found`. */
  async delete(projectId: string, id: string): Promise<void> {
    const { flow } = this.get(projectId, id);
    this.#deleting.add(id);
    try {
      await Promise.all([this.#checks.cancel(id), flow?.end('CANCELED', 'the auth connection was deleted')]);
      this.#options.records.delete(id);
      this.#flows.delete(id);
    } finally {
      this.#deleting.delete(id);
    }
    this.#followers.tell(id);
  }

  /** Begins to log in. Throws `not_found`, and `conflict` while a login is under way. */
  login(projectId: string, id: string, override: { proxy?: ProxySelector | undefined; record_session?: boolean | undefined }): LoginFlow {
    const { record } = this.get(projectId, id);
    return this.#login(record, {
      isAttended: true,
      isRecorded: override.record_session ?? record.settings.recordSession,
      proxyId: this.#proxyId(projectId, override.proxy) ?? record.settings.proxyId,
    });
  }

  /** Answers what the login asks. Throws `not_found`, `no_active_flow` and `not_asked`. */
  submit(projectId: string, id: string, submission: Submission): void {
    const { flow } = this.get(projectId, id);
    if (!flow) throw new OperationError('no_active_flow', 'there is no login under way: start one');
    flow.submit(submission);
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

  canReauth({ projectId, needs, settings: { credential } }: ConnectionRecord): { can: boolean; reason: CanReauthReason } {
    const stored = credential ? this.#options.credentials.look(projectId, credential) : { exists: false, hasTotpSecret: false };
    return canReauth(needs, credential, stored);
  }

  /** Ends all logins and checks. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const flows = Array.from(this.#flows.values(), (flow) => flow.end('FAILED', serviceEnded));
    await Promise.all([this.#checks.close(), ...flows]);
  }

  #login(record: ConnectionRecord, { isAttended, isRecorded, proxyId }: LoginOptions): LoginFlow {
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
      const name = credentials.save(projectId, {
        name: credential?.name ?? `${profileName} ${domain}`,
        domain,
        values: entered,
        ssoProvider,
      });
      settings.credential = { name };
    }
    records.change(id, { status: 'AUTHENTICATED', postLoginUrl: url, needs, settings });
    const record = records.get(id);
    if (record) this.#planCheck(record);
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

  /** Looks whether a connection is still logged in, and logs in again where that is asked for. */
  async #check(id: string, signal: AbortSignal): Promise<void> {
    const { records, clock } = this.#options;
    const record = records.get(id);
    if (!record) return;
    const before = this.#flows.get(id);
    // A login that runs tells more than a check, and so does one that has begun meanwhile.
    if (!before?.isRunning) {
      const at = clock.now();
      const finding = await checkHealth(record, this.#options, signal);
      if (signal.aborted) return;
      records.deleteBefore(at - keptMs);
      records.note({ id: newId(), connectionId: id, type: 'health_check', at, details: finding });
      records.change(id, { checkedAt: clock.now() });
      if (this.#flows.get(id) === before) this.#checked(id, finding.status);
    }
    const checked = records.get(id);
    if (checked) this.#planCheck(checked);
  }

  #checked(id: string, found: ConnectionRecord['status']): void {
    const record = this.#options.records.get(id);
    if (!record || found === record.status) return;
    const { settings } = record;
    if (found === 'NEEDS_AUTH' && settings.autoReauth && this.canReauth(record).can) {
      this.#login(record, { isAttended: false, isRecorded: settings.recordSession, proxyId: settings.proxyId });
    } else {
      this.#options.records.change(id, { status: found });
    }
  }

  #planCheck({ id, settings: { healthChecks, healthCheckInterval } }: ConnectionRecord): void {
    if (healthChecks) this.#checks.plan(id, this.#options.clock.now() + healthCheckInterval * 1000);
    else void this.#checks.cancel(id);
  }

  #proxyId(projectId: string, selector: ProxySelector | undefined): string | undefined {
    return selector && this.#options.proxyIdOf(projectId, selector);
  }

  /** Throws `bad_request` for a credential that there is not. */
  #existing(projectId: string, credential: AuthConnectionCreate['credential']): AuthConnectionCreate['credential'] {
    if (!credential || this.#options.credentials.look(projectId, credential).exists) return credential;
    const what = 'provider' in credential ? `credential provider named ${credential.provider}` : `credential named ${credential.name}`;
    throw invalidField('credential', `there is no ${what}`);
  }
}

/** Without what is not given. */
function defined<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> };
}
