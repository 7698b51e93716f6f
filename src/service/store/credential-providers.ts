import type { CredentialProvider, CredentialProviderCreate, CredentialProviderUpdate } from '../../contract/credential-providers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Page } from '../../contract/operation.ts';
import type { Clock } from '../clock.ts';
import { newId } from '../id.ts';
import { inTransaction, unlessTaken, type Database } from './database.ts';
import { pageOfRows } from './page.ts';
import type { Secrets } from './secrets.ts';

type Row = {
  id: string;
  provider_type: CredentialProvider['provider_type'];
  name: string;
  token: string;
  address: string | null;
  enabled: 0 | 1;
  priority: number;
  cache_ttl_seconds: number;
  created_at: number;
  updated_at: number;
};

/** How a vault is reached. `version` changes with the provider. */
export type VaultAccess = { id: string; name: string; version: number; address: string | undefined; token: string; cacheTtlMs: number };

/** The vaults outside of the service from which the organization takes credentials. */
export class CredentialProviderStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #secrets: Secrets;

  constructor(database: Database, clock: Clock, secrets: Secrets) {
    this.#database = database;
    this.#clock = clock;
    this.#secrets = secrets;
  }

  /** It is asked after all others. Throws `conflict` when the name is taken. */
  create({ provider_type, name, token, cache_ttl_seconds, address }: CredentialProviderCreate): CredentialProvider {
    const id = newId();
    const now = this.#clock.now();
    this.#unlessTaken(name, () =>
      this.#database
        .prepare(
          `INSERT INTO credential_providers (id, provider_type, name, token, address, priority, cache_ttl_seconds, created_at, updated_at)
           VALUES (?, ?, ?, ?, ?, (SELECT ifnull(max(priority) + 1, 0) FROM credential_providers), ?, ?, ?)`,
        )
        .run(id, provider_type, name, this.#secrets.seal(token, tokenPlace(id)), address ?? null, cache_ttl_seconds, now, now),
    );
    return this.get(id);
  }

  /** Throws `not_found`. */
  get(id: string): CredentialProvider {
    return toProvider(this.#row(id));
  }

  /** The provider of this name, if credentials may be looked up there. */
  enabledNamed(name: string): CredentialProvider | undefined {
    const select = this.#database.prepare('SELECT * FROM credential_providers WHERE name = ? AND enabled = 1');
    const row = select.get(name) as Row | undefined;
    return row && toProvider(row);
  }

  /** Newest first. `query` is part of a name, or an id. */
  list({ limit, offset, query }: { limit: number; offset: number; query?: string | undefined }): Page<CredentialProvider> {
    const rows = this.#database
      .prepare(
        `SELECT * FROM credential_providers WHERE :query IS NULL OR id = :query OR instr(lower(name), lower(:query)) > 0
         ORDER BY created_at DESC, id DESC LIMIT :count OFFSET :offset`,
      )
      .all({ query: query ?? null, count: limit + 1, offset }) as Row[];
    return pageOfRows(rows, toProvider, { limit, offset });
  }

  /** Auth connections, which know it by its name, follow. Throws `not_found`, and `conflict` when the new name is taken. */
  update(id: string, patch: CredentialProviderUpdate): CredentialProvider {
    const row = this.#row(id);
    const { name = row.name, priority = row.priority, cache_ttl_seconds = row.cache_ttl_seconds, enabled, token, address } = patch;
    const connections = this.#database.prepare(
      `UPDATE auth_connections SET settings = json_set(settings, '$.credential.provider', :name)
       WHERE settings ->> '$.credential.provider' = :before`,
    );
    const write = () => {
      this.#database
        .prepare(
          `UPDATE credential_providers SET name = ?, enabled = ?, priority = ?, token = ?, cache_ttl_seconds = ?, address = ?, updated_at = ?
           WHERE id = ?`,
        )
        .run(
          name,
          enabled === undefined ? row.enabled : Number(enabled),
          priority,
          token === undefined ? row.token : this.#secrets.seal(token, tokenPlace(id)),
          cache_ttl_seconds,
          address === undefined ? row.address : address || null,
          // Two changes within a millisecond must not look like one.
          Math.max(this.#clock.now(), row.updated_at + 1),
          id,
        );
      if (name !== row.name) connections.run({ name, before: row.name });
    };
    this.#unlessTaken(name, () => inTransaction(this.#database, write));
    return this.get(id);
  }

  /** Throws `not_found`. */
  delete(id: string): void {
    this.#row(id);
    this.#database.prepare('DELETE FROM credential_providers WHERE id = ?').run(id);
  }

  /** Throws `not_found`. */
  access(id: string): VaultAccess {
    const { name, token, address, cache_ttl_seconds, updated_at: version } = this.#row(id);
    const opened = this.#secrets.open(token, tokenPlace(id));
    return { id, name, version, address: address ?? undefined, token: opened, cacheTtlMs: cache_ttl_seconds * 1000 };
  }

  #row(id: string): Row {
    const row = this.#database.prepare('SELECT * FROM credential_providers WHERE id = ?').get(id) as Row | undefined;
    if (!row) throw new OperationError('not_found', `there is no credential provider with the id ${id}`);
    return row;
  }

  #unlessTaken(name: string, write: () => void): void {
    unlessTaken(write, () => `a credential provider named ${name} exists already: choose another name`);
  }
}

function tokenPlace(id: string): string {
  return `credential provider ${id} token`;
}

function toProvider(row: Row): CredentialProvider {
  return {
    id: row.id,
    provider_type: row.provider_type,
    name: row.name,
    enabled: row.enabled === 1,
    priority: row.priority,
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
    ...(row.address !== null && { address: row.address }),
    cache_ttl_seconds: row.cache_ttl_seconds,
  };
}
