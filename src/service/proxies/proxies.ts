import { invalidField, OperationError } from '../../contract/errors.ts';
import type { BodyOutput } from '../../contract/operation.ts';
import { proxy, type BrowserProxy, type proxies } from '../../contract/proxies.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import type { ProxyAccess } from '../chromium/network/proxy-connection.ts';
import { answerOf } from '../database/answer-of.ts';
import type { Database } from '../database/database.ts';
import type { Secrets } from '../database/secrets.ts';
import { type RowOf, Table, table } from '../database/table.ts';
import { integer, json, optional, sealed, text, time } from '../database/columns.ts';

/** The stored proxies of all projects. */
const proxiesTable = table('proxies', {
  id: text(),
  project_id: text(),
  name: optional(text()),
  protocol: text<'http' | 'https'>(),
  bypass_hosts: json<string[]>(),
  host: text(),
  port: integer(),
  username: optional(text()),
  password: optional(sealed(({ id }) => `proxy ${id} password`)),
  /** Certificates in PEM. */
  ca_bundle: optional(text()),
  /** The result of the last check. */
  status: optional(text<'available' | 'unavailable'>()),
  status_reason: optional(text()),
  last_checked: optional(time()),
  created_at: time(),
}).with({ once: 'CREATE INDEX proxies_of_project ON proxies (project_id)' });

type Row = RowOf<typeof proxiesTable>;
type ProxyUpdate = BodyOutput<typeof proxies.update>;
type NewProxy = Extract<BodyOutput<typeof proxies.create>, { type: 'custom' }>;

const answer = answerOf(proxy, proxiesTable);

/** Stores the proxies that browsers use. Only the project that created a proxy can see it. */
export class ProxyStore {
  readonly #rows: Table<typeof proxiesTable>;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock, secrets: Secrets) {
    this.#rows = new Table(database, proxiesTable, secrets);
    this.#clock = clock;
  }

  create(projectId: string, { config, ...body }: NewProxy): BrowserProxy {
    return toProxy(
      this.#rows.insert({ ...config, ...body, id: newId(), project_id: projectId, created_at: this.#clock.now() }),
    );
  }

  /** Throws `not_found`. */
  get(projectId: string, id: string): BrowserProxy {
    return toProxy(this.#row(projectId, id));
  }

  /** The id of the proxy with this id or name. Throws `bad_request` if it doesn't exist or if several have the name. */
  select(projectId: string, { id, name }: { id?: string | undefined; name?: string | undefined }): string {
    const [proxy, other] = this.list(projectId).filter((proxy) =>
      id === undefined ? proxy.name === name : proxy.id === id,
    );
    if (proxy?.id !== undefined && !other) return proxy.id;
    const problem = proxy
      ? `several proxies are named ${name}: choose one by its id`
      : `no proxy has the ${id === undefined ? `name ${name}` : `id ${id}`}: create it first`;
    throw invalidField('proxy', problem);
  }

  /** Newest first. */
  list(projectId: string): BrowserProxy[] {
    return this.#rows.list({ project_id: projectId }, { order: 'created_at DESC, id DESC' }).map(toProxy);
  }

  /** Throws `not_found`. */
  update(projectId: string, id: string, body: ProxyUpdate): BrowserProxy {
    this.#row(projectId, id);
    this.#rows.change({ id }, body);
    return this.get(projectId, id);
  }

  /** Stores the result of a check, unless the proxy was deleted meanwhile. */
  checked(id: string, { status, status_reason }: Pick<BrowserProxy, 'status' | 'status_reason'>): void {
    this.#rows.change({ id }, { status, status_reason, last_checked: this.#clock.now() });
  }

  /** Throws `not_found`. */
  delete(projectId: string, id: string): void {
    this.#row(projectId, id);
    this.#rows.delete({ id });
  }

  /** The address and the decrypted password of a proxy, for a browser. Throws `not_found`. */
  access(projectId: string, id: string): ProxyAccess {
    const { protocol, host, port, username, password, ca_bundle, bypass_hosts } = this.#row(projectId, id);
    return {
      id,
      protocol,
      host,
      port,
      ...(username !== undefined && { username }),
      ...(password && { password: password.open() }),
      ...(ca_bundle !== undefined && { caBundle: ca_bundle }),
      bypassHosts: bypass_hosts,
    };
  }

  countOf(projectId: string): number {
    return this.#rows.count({ project_id: projectId });
  }

  #row(projectId: string, id: string): Row {
    const row = this.#rows.find({ project_id: projectId, id });
    if (!row) throw new OperationError('not_found', `no proxy has the id ${id}`);
    return row;
  }
}

function toProxy(row: Row): BrowserProxy {
  const { host, port, username, password, ca_bundle } = row;
  return {
    ...answer(row),
    type: 'custom',
    config: {
      host,
      port,
      ...(username !== undefined && { username }),
      has_password: password !== undefined,
      has_ca_bundle: ca_bundle !== undefined,
    },
  };
}
