import {
  credentialProvider,
  type CredentialProvider,
  type CredentialProviderCreate,
  type CredentialProviderUpdate,
} from '../../contract/credential-providers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { ListPage } from '../../contract/operation.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import { answerOf } from '../database/answer-of.ts';
import { unlessTaken, type Database } from '../database/database.ts';
import type { Secrets } from '../database/secrets.ts';
import { contains, type RowOf, Table } from '../database/table.ts';
import { credentialProvidersTable } from './credentials-tables.ts';
import type { VaultAccess } from './vault.ts';

type Row = RowOf<typeof credentialProvidersTable>;

const toProvider = answerOf(credentialProvider, credentialProvidersTable);

/** The stored credential providers: vaults outside of the service that hold the organization's credentials. */
export class CredentialProviderStore {
  readonly #rows: Table<typeof credentialProvidersTable>;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock, secrets: Secrets) {
    this.#rows = new Table(database, credentialProvidersTable, secrets);
    this.#clock = clock;
  }

  /** Adds a provider, which is asked after all others. Throws `conflict` if the name is taken. */
  create(body: CredentialProviderCreate): CredentialProvider {
    const now = this.#clock.now();
    const priority = 1 + Math.max(-1, ...this.#rows.list().map((other) => other.priority));
    const row = { ...body, id: newId(), enabled: true, priority, created_at: now, updated_at: now };
    return toProvider(this.#unlessTaken(body.name, () => this.#rows.insert(row)));
  }

  /** Throws `not_found`. */
  get(id: string): CredentialProvider {
    return toProvider(this.#row(id));
  }

  /** The provider of this name, if credentials may be looked up there. */
  enabledNamed(name: string): CredentialProvider | undefined {
    const row = this.#rows.find({ name, enabled: true });
    return row && toProvider(row);
  }

  /** Newest first. `query` is part of a name, or an id. */
  list(page: { limit: number; offset: number; query?: string | undefined }): ListPage<CredentialProvider> {
    const search = `id = :query OR ${contains('name')}`;
    return this.#rows.page({}, { ...page, search, order: 'created_at DESC, id DESC' }, toProvider);
  }

  /** Throws `not_found`, and `conflict` if the new name is taken. */
  update(id: string, patch: CredentialProviderUpdate): CredentialProvider {
    const before = this.#row(id);
    // Two changes within a millisecond must not look like one.
    const updated_at = Math.max(this.#clock.now(), before.updated_at + 1);
    const changes = { ...patch, ...(patch.address === '' && { address: null }), updated_at };
    this.#unlessTaken(patch.name ?? before.name, () => this.#rows.change({ id }, changes));
    return this.get(id);
  }

  /** Throws `not_found`. */
  delete(id: string): void {
    this.#row(id);
    this.#rows.delete({ id });
  }

  /** The provider's address with its decrypted token. Throws `not_found`. */
  access(id: string): VaultAccess {
    const { name, token, address, cache_ttl_seconds, updated_at: version } = this.#row(id);
    return { id, name, version, address, token: token.open(), cacheTtlMs: cache_ttl_seconds * 1000 };
  }

  #row(id: string): Row {
    const row = this.#rows.find({ id });
    if (!row) throw new OperationError('not_found', `there is no credential provider with the id ${id}`);
    return row;
  }

  #unlessTaken<T>(name: string, write: () => T): T {
    return unlessTaken(write, () => `a credential provider named ${name} exists already: choose another name`);
  }
}
