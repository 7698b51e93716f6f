import type { AuthConnectionCreate, AuthConnectionUpdate, ProxySelector, Submission } from '../../contract/auth-connections.ts';
import { invalidField, OperationError } from '../../contract/errors.ts';
import { newId } from '../id.ts';
import type { ConnectionRecord, ConnectionSettings } from './connection-record.ts';
import type { LoginFlow } from './flow.ts';
import { checkHealth } from './health-check.ts';
import { HealthChecks } from './health-checks.ts';
import { Logins, type LoginsOptions } from './logins.ts';

export type AuthConnectionsOptions = Omit<LoginsOptions, 'onLoggedIn'> & {
  /** Finds the proxy that a request names, by its id or name. Throws `bad_request`. */
  proxyIdOf: (projectId: string, selector: ProxySelector) => string;
};

/** A connection with its latest login, while that is known. */
export type Connection = { record: ConnectionRecord; flow: LoginFlow | undefined };

/** How long the timeline is kept. */
const keptMs = 90 * 24 * 3600 * 1000;

/** Profiles that stay logged in: their logins, and the checks whether they still are. */
export class AuthConnections {
  readonly logins: Logins;
  readonly #options: AuthConnectionsOptions;
  readonly #checks: HealthChecks;
  /** Those that are about to go. */
  readonly #deleting = new Set<string>();

  constructor(options: AuthConnectionsOptions) {
    this.#options = options;
    this.logins = new Logins({ ...options, onLoggedIn: (id) => this.#planCheck(id) });
    this.#checks = new HealthChecks(options.clock, (id, signal) => this.#check(id, signal));
  }

  /** Takes over what an earlier service left. */
  open(): void {
    const { records, clock } = this.#options;
    records.deleteBefore(clock.now() - keptMs);
    for (const record of records.all()) {
      const { id, settings } = record;
      this.logins.takeOver(record);
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
    this.#planCheck(record.id);
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
    const flow = this.logins.latest(id);
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
    if (patch.health_checks !== undefined || patch.health_check_interval !== undefined) this.#planCheck(id);
    return this.get(projectId, id);
  }

  /** Cancels what is under way, and deletes the connection once that has ended. Throws `not_found`. */
  async delete(projectId: string, id: string): Promise<void> {
    const { flow } = this.get(projectId, id);
    this.#deleting.add(id);
    try {
      await Promise.all([this.#checks.cancel(id), flow?.end('CANCELED', 'the auth connection was deleted')]);
      this.#options.records.delete(id);
    } finally {
      this.#deleting.delete(id);
    }
    this.logins.forget(id);
  }

  /** Begins to log in. Throws `not_found`, and `conflict` while a login is under way. */
  login(projectId: string, id: string, override: { proxy?: ProxySelector | undefined; record_session?: boolean | undefined }): LoginFlow {
    const { record } = this.get(projectId, id);
    return this.logins.begin(record, {
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

  /** Ends all logins and checks. */
  async close(): Promise<void> {
    await Promise.all([this.#checks.close(), this.logins.close()]);
  }

  /** Looks whether a connection is still logged in, and logs in again where that is asked for. */
  async #check(id: string, signal: AbortSignal): Promise<void> {
    const { records, clock } = this.#options;
    const record = records.get(id);
    if (!record) return;
    const before = this.logins.latest(id);
    // A login that runs tells more than a check, and so does one that has begun meanwhile.
    if (!before?.isRunning) {
      const at = clock.now();
      const finding = await checkHealth(record, this.#options, signal);
      if (signal.aborted) return;
      records.deleteBefore(at - keptMs);
      records.note({ id: newId(), connectionId: id, type: 'health_check', at, details: finding });
      records.change(id, { checkedAt: clock.now() });
      if (this.logins.latest(id) === before) this.#checked(id, finding.status);
    }
    this.#planCheck(id);
  }

  #checked(id: string, found: ConnectionRecord['status']): void {
    const record = this.#options.records.get(id);
    if (!record || found === record.status) return;
    const { settings } = record;
    if (found === 'NEEDS_AUTH' && settings.autoReauth && this.logins.canReauth(record).can) {
      this.logins.begin(record, { isAttended: false, isRecorded: settings.recordSession, proxyId: settings.proxyId });
    } else {
      this.#options.records.change(id, { status: found });
    }
  }

  #planCheck(id: string): void {
    const { records, clock } = this.#options;
    const settings = records.get(id)?.settings;
    if (settings?.healthChecks) this.#checks.plan(id, clock.now() + settings.healthCheckInterval * 1000);
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
