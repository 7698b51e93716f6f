import { invalidField, OperationError } from '../../contract/errors.ts';
import type { CustomProxyConfig, Proxy } from '../../contract/proxies.ts';
import type { Clock } from '../clock.ts';
import { newId } from '../id.ts';
import type { Database } from './database.ts';
import type { Secrets } from './secrets.ts';

type Row = {
  id: string;
  name: string | null;
  protocol: 'http' | 'https';
  bypass_hosts: string;
  host: string;
  port: number;
  username: string | null;
  password: string | null;
  ca_bundle: string | null;
  status: 'available' | 'unavailable' | null;
  status_reason: string | null;
  last_checked: number | null;
  created_at: number;
};

type NewProxy = { name?: string | undefined; protocol: 'http' | 'https'; bypass_hosts: string[]; config: CustomProxyConfig };

/** How a proxy is reached, with its secrets. */
export type ProxyAccess = {
  id: string;
  protocol: 'http' | 'https';
  host: string;
  port: number;
  username?: string;
  password?: string;
  caBundle?: string;
  bypassHosts: string[];
};

/** The proxies for browsers, each known in its project only. */
export class ProxyStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #secrets: Secrets;

  constructor(database: Database, clock: Clock, secrets: Secrets) {
    this.#database = database;
    this.#clock = clock;
    this.#secrets = secrets;
  }

  create(projectId: string, { name, protocol, bypass_hosts, config }: NewProxy): Proxy {
    const id = newId();
    const { host, port, username, password, ca_bundle } = config;
    this.#database
      .prepare(
        `INSERT INTO proxies (id, project_id, name, protocol, bypass_hosts, host, port, username, password, ca_bundle, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        id,
        projectId,
        name ?? null,
        protocol,
        JSON.stringify(bypass_hosts),
        host,
        port,
        username ?? null,
        password === undefined ? null : this.#secrets.seal(password, passwordPlace(id)),
        ca_bundle ?? null,
        this.#clock.now(),
      );
    return this.get(projectId, id);
  }

  /** Throws `not_found`. */
  get(projectId: string, id: string): Proxy {
    return toProxy(this.#row(projectId, id));
  }

  /** The id of the one with this id or name. Throws `bad_request` when there is none, or several have the name. */
  select(projectId: string, { id, name }: { id?: string | undefined; name?: string | undefined }): string {
    const [proxy, other] = this.list(projectId).filter((proxy) => (id === undefined ? proxy.name === name : proxy.id === id));
    if (proxy?.id !== undefined && !other) return proxy.id;
    const problem = proxy
      ? `several are named ${name}: choose one by its id`
      : `there is none with the ${id === undefined ? `name ${name}` : `id ${id}`}`;
    throw invalidField('proxy', problem);
  }

  /** Newest first. */
  list(projectId: string): Proxy[] {
    const rows = this.#database.prepare('SELECT * FROM proxies WHERE project_id = ? ORDER BY created_at DESC, id DESC').all(projectId);
    return (rows as Row[]).map(toProxy);
  }

  /** Throws `not_found`. */
  rename(projectId: string, id: string, name: string): Proxy {
    this.#row(projectId, id);
    this.#database.prepare('UPDATE proxies SET name = ? WHERE id = ?').run(name, id);
    return this.get(projectId, id);
  }

  /** Notes what a check has found, unless the proxy was deleted meanwhile. */
  checked(id: string, { status, status_reason }: Pick<Proxy, 'status' | 'status_reason'>): void {
    this.#database
      .prepare('UPDATE proxies SET status = ?, status_reason = ?, last_checked = ? WHERE id = ?')
      .run(status ?? null, status_reason ?? null, this.#clock.now(), id);
  }

  /** Throws `not_found`. */
  delete(projectId: string, id: string): void {
    this.#row(projectId, id);
    this.#database.prepare('DELETE FROM proxies WHERE id = ?').run(id);
  }

  /** Throws `not_found`. */
  access(projectId: string, id: string): ProxyAccess {
    const { protocol, host, port, username, password, ca_bundle, bypass_hosts } = this.#row(projectId, id);
    return {
      id,
      protocol,
      host,
      port,
      ...(username !== null && { username }),
      ...(password !== null && { password: this.#secrets.open(password, passwordPlace(id)) }),
      ...(ca_bundle !== null && { caBundle: ca_bundle }),
      bypassHosts: JSON.parse(bypass_hosts) as string[],
    };
  }

  countOf(projectId: string): number {
    const row = this.#database.prepare('SELECT count(*) AS count FROM proxies WHERE project_id = ?').get(projectId);
    return (row as { count: number }).count;
  }

  #row(projectId: string, id: string): Row {
    const row = this.#database.prepare('SELECT * FROM proxies WHERE project_id = ? AND id = ?').get(projectId, id) as Row | undefined;
    if (!row) throw new OperationError('not_found', `there is no proxy with the id ${id}`);
    return row;
  }
}

function passwordPlace(id: string): string {
  return `proxy ${id} password`;
}

function toProxy(row: Row): Proxy {
  return {
    id: row.id,
    type: 'custom',
    ...(row.name !== null && { name: row.name }),
    protocol: row.protocol,
    bypass_hosts: JSON.parse(row.bypass_hosts) as string[],
    ...(row.status !== null && { status: row.status }),
    ...(row.status_reason !== null && { status_reason: row.status_reason }),
    ...(row.last_checked !== null && { last_checked: new Date(row.last_checked).toISOString() }),
    config: {
      host: row.host,
      port: row.port,
      ...(row.username !== null && { username: row.username }),
      has_password: row.password !== null,
      has_ca_bundle: row.ca_bundle !== null,
    },
  };
}
