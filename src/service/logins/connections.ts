import type { AuthConnectionCreate, AuthConnectionUpdate, ProxySelector } from '../../contract/auth-connections.ts';
import type { Submission } from '../../contract/login-flow.ts';
import { invalidField, OperationError } from '../../contract/errors.ts';
import type { Caller } from '../http/handler.ts';
import { newId } from '../process/id.ts';
import type { ConnectionRecord, ConnectionSettings } from './connections-table.ts';
import type { LoginFlow } from './flow/flow.ts';
import { checkHealth } from './health-check.ts';
import { Handoffs } from './handoffs.ts';
import { HealthChecks } from './health-checks.ts';
import { Logins, type LoginsOptions } from './logins.ts';

export type AuthConnectionsOptions = Omit<LoginsOptions, 'onLoggedIn'> & {
  /** Finds the proxy that a request names, by its id or name. Throws `bad_request`. */
  proxyIdOf: (projectId: string, selector: ProxySelector) => string;
};

export type Connection = { record: ConnectionRecord; flow: LoginFlow | undefined };

/** How long the entries of a timeline are kept, in ms. */
const keptMs = 90 * 24 * 3600 * 1000;

/** Manages auth connections. Each keeps a profile logged in to a domain, by logins and health checks. */
export class AuthConnections {
  readonly logins: Logins;
  readonly handoffs: Handoffs;
  readonly #options: AuthConnectionsOptions;
  readonly #checks: HealthChecks;
  /** Ids of the connections that are being deleted. */
  readonly #deleting = new Set<string>();

  constructor(options: AuthConnectionsOptions) {
    this.#options = options;
    this.handoffs = new Handoffs(options.clock);
    this.logins = new Logins({ ...options, onLoggedIn: (id) => this.#planCheck(id) });
    this.#checks = new HealthChecks(options.clock, (id, signal) => this.#check(id, signal));
  }

  /** Takes over the connections of an earlier run of the service. */
  open(): void {
    const { records, clock } = this.#options;
    records.events.delete({ at: { below: clock.now() - keptMs } });
    for (const record of records.rows.list({}, { order: 'created_at, rowid' })) {
      const { id, settings } = record;
      this.logins.takeOver(record);
      if (settings.healthChecks)
        this.#checks.resume(id, (record.checkedAt ?? record.createdAt) + settings.healthCheckInterval * 1000);
    }
  }

  /** Throws `already_exists`, and `bad_request` for a credential that doesn't exist. */
  create({ projectId, apiKey }: Caller, request: AuthConnectionCreate): Connection {
    const { records, clock, ensureProfile } = this.#options;
    const { domain, profile_name: profileName } = request;
    // The contract has defaults for the required settings.
    const settings = this.#settingsOf(projectId, request, isOfOrganization(apiKey)) as ConnectionSettings;
    settings.grantedDomains = granted(domain, request, apiKey);
    const existing = records.rows.find({ projectId, profileName, domain });
    if (existing) {
      const message = `the profile ${profileName} has an auth connection to ${domain} already: use or delete that one`;
      throw new OperationError('already_exists', message, { existingId: existing.id });
    }
    const named = { id: newId(), projectId, profileName, domain };
    const record = records.rows.insert({ ...named, status: 'NEEDS_AUTH', settings, createdAt: clock.now() });
    ensureProfile(projectId, profileName);
    this.#planCheck(record.id);
    return this.get(projectId, record.id);
  }

  /** Throws `not_found`. */
  get(projectId: string, id: string): Connection {
    const connection = this.find(projectId, id);
    if (!connection) throw new OperationError('not_found', `there is no auth connection ${id}`);
    return connection;
  }

  /** Returns `undefined` if the connection doesn't exist or is being deleted. */
  find(projectId: string, id: string): Connection | undefined {
    const { rows } = this.#options.records;
    const record = rows.find({ id, projectId });
    const flow = this.logins.latest(id);
    if (!record || this.#deleting.has(id)) return undefined;
    // `isRunning` ends a login whose time is over, also before its timer fires. The record then has another state.
    return flow?.isRunning === false ? { record: rows.find({ id })!, flow } : { record, flow };
  }

  /** Whether a project has the connection. */
  exists(id: string): boolean {
    return this.#options.records.rows.find({ id }) !== undefined && !this.#deleting.has(id);
  }

  /** Changes the given fields. Throws `not_found`, and `bad_request` for a credential that doesn't exist. */
  update({ projectId, apiKey }: Caller, id: string, patch: AuthConnectionUpdate): Connection {
    const { record } = this.get(projectId, id);
    const settings = {
      ...record.settings,
      ...defined(this.#settingsOf(projectId, patch, isOfOrganization(apiKey))),
    };
    const isGranted = patch.allowed_domains !== undefined && isOfOrganization(apiKey) && settings.grantedDomains;
    if (patch.credential || isGranted)
      settings.grantedDomains = granted(record.domain, { ...patch, credential: settings.credential }, apiKey);
    if (patch.login_url === '') settings.loginUrl = undefined;
    this.#options.records.rows.change({ id }, { settings });
    if (patch.health_checks !== undefined || patch.health_check_interval !== undefined) this.#planCheck(id);
    return this.get(projectId, id);
  }

  /** Cancels the running login or check, waits for its end, and deletes the connection. Throws `not_found`. */
  async delete(projectId: string, id: string): Promise<void> {
    const { flow } = this.get(projectId, id);
    this.#deleting.add(id);
    try {
      await Promise.all([this.#checks.cancel(id), flow?.end('CANCELED', 'the auth connection was deleted')]);
      this.#options.records.rows.delete({ id });
    } finally {
      this.#deleting.delete(id);
    }
    this.logins.forget(id);
  }

  /** Starts a login. Throws `not_found`, `conflict` while another login runs, and `draining`. */
  login(
    projectId: string,
    id: string,
    override: { proxy?: ProxySelector | undefined; record_session?: boolean | undefined },
  ): LoginFlow {
    const { record } = this.get(projectId, id);
    return this.logins.begin(record, {
      isAttended: true,
      isRecorded: override.record_session ?? record.settings.recordSession,
      proxyId: this.#proxyId(projectId, override.proxy) ?? record.settings.proxyId,
    });
  }

  /** Answers the questions of the running login. Throws `not_found`, `no_active_flow` and `not_asked`. */
  submit(projectId: string, id: string, submission: Submission): void {
    const { flow } = this.get(projectId, id);
    if (!flow) throw new OperationError('no_active_flow', 'no login is running: start one');
    flow.submit(submission);
  }

  async close(): Promise<void> {
    await Promise.all([this.#checks.close(), this.logins.close()]);
  }

  /** Checks whether a connection is still logged in. Logs in again if the connection is set to do so. */
  async #check(id: string, signal: AbortSignal): Promise<void> {
    const { records, clock } = this.#options;
    const record = records.rows.find({ id });
    if (!record) return;
    const before = this.logins.latest(id);
    // The result of a running login, or of one that began during the check, is more reliable than the check.
    if (!before?.isRunning) {
      const at = clock.now();
      const finding = await checkHealth(record, this.#options, signal);
      if (signal.aborted) return;
      records.events.delete({ at: { below: at - keptMs } });
      records.note({ id: newId(), connectionId: id, type: 'health_check', at, details: finding });
      records.rows.change({ id }, { checkedAt: clock.now() });
      if (this.logins.latest(id) === before) this.#checked(id, finding.status);
    }
    this.#planCheck(id);
  }

  #checked(id: string, found: ConnectionRecord['status']): void {
    const { records, sessions } = this.#options;
    const record = records.rows.find({ id });
    if (!record || found === record.status) return;
    const { autoReauth, recordSession: isRecorded, proxyId } = record.settings;
    if (found === 'NEEDS_AUTH' && autoReauth && !sessions.draining && this.logins.canReauth(record).can) {
      this.logins.begin(record, { isAttended: false, isRecorded, proxyId });
    } else {
      records.rows.change({ id }, { status: found });
    }
  }

  #planCheck(id: string): void {
    const { records, clock } = this.#options;
    const settings = records.rows.find({ id })?.settings;
    if (settings?.healthChecks) this.#checks.plan(id, clock.now() + settings.healthCheckInterval * 1000);
    else void this.#checks.cancel(id);
  }

  #settingsOf(
    projectId: string,
    request: AuthConnectionUpdate,
    isGranted: boolean,
  ): { [K in keyof ConnectionSettings]?: ConnectionSettings[K] | undefined } {
    return {
      loginUrl: request.login_url,
      credential: this.#existing(projectId, request.credential, isGranted),
      proxyId: this.#proxyId(projectId, request.proxy),
      allowedDomains: request.allowed_domains,
      healthCheckInterval: request.health_check_interval,
      healthChecks: request.health_checks,
      autoReauth: request.auto_reauth,
      saveCredentials: request.save_credentials,
      recordSession: request.record_session,
    };
  }

  #proxyId(projectId: string, selector: ProxySelector | undefined): string | undefined {
    return selector && this.#options.proxyIdOf(projectId, selector);
  }

  /** Throws `bad_request` for a credential that doesn't exist. */
  #existing(
    projectId: string,
    credential: AuthConnectionCreate['credential'],
    isGranted: boolean,
  ): AuthConnectionCreate['credential'] {
    if (!credential || this.#options.credentials.inspect(projectId, credential, isGranted).exists) return credential;
    const problem =
      'provider' in credential
        ? `there is no credential provider named ${credential.provider}, or this project may not use it: an organization key can add the project to the provider's project_ids`
        : `there is no credential named ${credential.name}: create it first`;
    throw invalidField('credential', problem);
  }
}

function isOfOrganization({ projectId }: Caller['apiKey']): boolean {
  return projectId === undefined;
}

/**
 * The further domains where a provider's item may be typed. Only a request with an organization key can add them, not a
 * later change with a project's key.
 */
function granted(
  domain: string,
  { credential, allowed_domains: allowed = [], login_url: loginUrl }: AuthConnectionUpdate,
  apiKey: Caller['apiKey'],
): string[] | undefined {
  if (!isOfOrganization(apiKey) || !credential || !('provider' in credential)) return undefined;
  return [domain, ...allowed, ...(loginUrl ? [new URL(loginUrl).host] : [])];
}

function defined<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
