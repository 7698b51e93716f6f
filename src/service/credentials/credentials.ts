import {
  credential,
  type Credential,
  type CredentialCreate,
  type CredentialUpdate,
} from '../../contract/credentials.ts';
import { OperationError } from '../../contract/errors.ts';
import type { ListPage } from '../../contract/operation.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import { answerOf } from '../database/answer-of.ts';
import { inTransaction, unlessTaken, type Database } from '../database/database.ts';
import type { Secrets } from '../database/secrets.ts';
import { contains, type RowOf, Table } from '../database/table.ts';
import { credentialsTable, credentialValuesTable } from './credentials-tables.ts';

type Row = RowOf<typeof credentialsTable>;
type CredentialList = { limit: number; offset: number; domain?: string | undefined; query?: string | undefined };

const answer = answerOf(credential, credentialsTable);

/** The stored login data of web sites. A credential exists in its project only. */
export class CredentialStore {
  readonly #database: Database;
  readonly #rows: Table<typeof credentialsTable>;
  readonly #values: Table<typeof credentialValuesTable>;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock, secrets: Secrets) {
    this.#database = database;
    this.#rows = new Table(database, credentialsTable, secrets);
    this.#values = new Table(database, credentialValuesTable, secrets);
    this.#clock = clock;
  }

  /** Throws `conflict` if the name is taken. */
  create(projectId: string, { values, ...body }: CredentialCreate): Credential {
    const id = newId();
    const now = this.#clock.now();
    this.#write(body.name, () => {
      this.#rows.insert({ ...body, id, project_id: projectId, created_at: now, updated_at: now });
      this.#storeValues(id, values);
    });
    return this.get(projectId, id);
  }

  /** Finds a credential by its id or its name. The id is tried first. Throws `not_found`. */
  get(projectId: string, idOrName: string): Credential {
    const row = this.#row(projectId, idOrName);
    return { ...this.#answer(row), value_keys: this.#values.list({ credential_id: row.id }).map(({ name }) => name) };
  }

  /** Newest first. `query` is part of a name or domain, or an id. `domain` is an exact domain. */
  list(projectId: string, { domain, ...page }: CredentialList): ListPage<Credential> {
    const search = `id = :query OR ${contains('name')} OR instr(domain, lower(:query)) > 0`;
    const options = { ...page, search, order: 'created_at DESC, id DESC' };
    return this.#rows.page({ project_id: projectId, domain }, options, (row) => this.#answer(row));
  }

  /** Throws `not_found`, and `conflict` if the new name is taken. */
  update(projectId: string, idOrName: string, patch: CredentialUpdate): Credential {
    const { id, name } = this.#row(projectId, idOrName);
    const { values = {}, remove_value_keys = [], ...fields } = patch;
    const cleared = {
      ...(fields.totp_secret === '' && { totp_secret: null }),
      ...(fields.sso_provider === '' && { sso_provider: null }),
    };
    this.#write(fields.name ?? name, () => {
      this.#rows.change({ id }, { ...fields, ...cleared, updated_at: this.#clock.now() });
      for (const key of remove_value_keys) this.#values.delete({ credential_id: id, name: key });
      this.#storeValues(id, values);
    });
    return this.get(projectId, id);
  }

  /** Throws `not_found`. */
  delete(projectId: string, idOrName: string): void {
    this.#rows.delete({ id: this.#row(projectId, idOrName).id });
  }

  /** Returns the values by field name. Throws `not_found`. */
  values(projectId: string, idOrName: string): Record<string, string> {
    const values = this.#values.list({ credential_id: this.#row(projectId, idOrName).id });
    return Object.fromEntries(values.map(({ name, value }) => [name, value.open()]));
  }

  /** Returns the secret for one-time codes. Throws `not_found` if the credential or its secret is missing. */
  totpSecret(projectId: string, idOrName: string): string {
    const { totp_secret: secret } = this.#row(projectId, idOrName);
    if (!secret)
      throw new OperationError('not_found', `the credential ${idOrName} has no TOTP secret: update it with one`);
    return secret.open();
  }

  countOf(projectId: string): number {
    return this.#rows.count({ project_id: projectId });
  }

  #row(projectId: string, idOrName: string): Row {
    const row =
      this.#rows.find({ project_id: projectId, id: idOrName }) ??
      this.#rows.find({ project_id: projectId, name: idOrName });
    if (!row) throw new OperationError('not_found', `no credential has the id or name ${idOrName}`);
    return row;
  }

  #answer(row: Row): Credential {
    const has_values = this.#values.count({ credential_id: row.id }) > 0;
    return { ...answer(row), has_values, has_totp_secret: row.totp_secret !== undefined };
  }

  #storeValues(id: string, values: Record<string, string>): void {
    for (const [name, value] of Object.entries(values)) {
      const key = { credential_id: id, name };
      if (this.#values.change(key, { value }) === 0) this.#values.insert({ ...key, value });
    }
  }

  #write(name: string, work: () => void): void {
    const write = () => inTransaction(this.#database, work);
    unlessTaken(write, () => `a credential named ${name} exists already: choose another name, or update that one`);
  }
}
