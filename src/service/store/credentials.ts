import type { Credential, CredentialCreate, CredentialUpdate } from '../../contract/credentials.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Page } from '../../contract/operation.ts';
import type { Clock } from '../clock.ts';
import { newId } from '../id.ts';
import { inTransaction, unlessTaken, type Database } from './database.ts';
import { pageOfRows } from './page.ts';
import type { Secrets } from './secrets.ts';

type Row = {
  id: string;
  name: string;
  domain: string;
  totp_secret: string | null;
  sso_provider: string | null;
  created_at: number;
  updated_at: number;
  has_values: 0 | 1;
};

type CredentialList = { limit: number; offset: number; domain?: string | undefined; query?: string | undefined };

const selectCredentials =
  'SELECT *, EXISTS (SELECT 1 FROM credential_values WHERE credential_id = credentials.id) AS has_values FROM credentials';

/** The stored login data of web sites, each known in its project only. */
export class CredentialStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #secrets: Secrets;

  constructor(database: Database, clock: Clock, secrets: Secrets) {
    this.#database = database;
    this.#clock = clock;
    this.#secrets = secrets;
  }

  /** Throws `conflict` when the name is taken. */
  create(projectId: string, { name, domain, values, totp_secret, sso_provider }: CredentialCreate): Credential {
    const id = newId();
    const now = this.#clock.now();
    this.#write(name, () => {
      this.#database
        .prepare(
          `INSERT INTO credentials (id, project_id, name, domain, totp_secret, sso_provider, created_at, updated_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(id, projectId, name, domain, this.#sealedTotp(id, totp_secret), sso_provider ?? null, now, now);
      this.#storeValues(id, values);
    });
    return this.get(projectId, id);
  }

  /** An id wins over a name. Throws `not_found`. */
  get(projectId: string, idOrName: string): Credential {
    const row = this.#row(projectId, idOrName);
    return { ...toCredential(row), value_keys: this.#sealedValues(row.id).map(({ name }) => name) };
  }

  /** Newest first. `query` is part of a name or domain, or an id, `domain` an exact domain. */
  list(projectId: string, { limit, offset, domain, query }: CredentialList): Page<Credential> {
    const rows = this.#database
      .prepare(
        `${selectCredentials}
         WHERE project_id = :project AND (:domain IS NULL OR domain = :domain)
           AND (:query IS NULL OR id = :query OR instr(lower(name), lower(:query)) > 0 OR instr(domain, lower(:query)) > 0)
         ORDER BY created_at DESC, id DESC LIMIT :count OFFSET :offset`,
      )
      .all({ project: projectId, domain: domain ?? null, query: query ?? null, count: limit + 1, offset }) as Row[];
    return pageOfRows(rows, toCredential, { limit, offset });
  }

  /** Auth connections, which know it by its name, follow. Throws `not_found`, and `conflict` when the new name is taken. */
  update(projectId: string, idOrName: string, patch: CredentialUpdate): Credential {
    const row = this.#row(projectId, idOrName);
    const { id } = row;
    const { name = row.name, values = {}, remove_value_keys = [], totp_secret, sso_provider } = patch;
    this.#write(name, () => {
      this.#database
        .prepare('UPDATE credentials SET name = ?, totp_secret = ?, sso_provider = ?, updated_at = ? WHERE id = ?')
        .run(
          name,
          totp_secret === undefined ? row.totp_secret : this.#sealedTotp(id, totp_secret),
          sso_provider === undefined ? row.sso_provider : sso_provider || null,
          this.#clock.now(),
          id,
        );
      if (name !== row.name) {
        this.#database
          .prepare(
            `UPDATE auth_connections SET settings = json_set(settings, '$.credential.name', :name)
             WHERE project_id = :project AND settings ->> '$.credential.name' = :before`,
          )
          .run({ name, project: projectId, before: row.name });
      }
      const remove = this.#database.prepare('DELETE FROM credential_values WHERE credential_id = ? AND name = ?');
      for (const key of remove_value_keys) remove.run(id, key);
      this.#storeValues(id, values);
    });
    return this.get(projectId, id);
  }

  /** Throws `not_found`. */
  delete(projectId: string, idOrName: string): void {
    this.#database.prepare('DELETE FROM credentials WHERE id = ?').run(this.#row(projectId, idOrName).id);
  }

  /** What is to be filled in, by the names of the fields. Throws `not_found`. */
  values(projectId: string, idOrName: string): Record<string, string> {
    const { id } = this.#row(projectId, idOrName);
    return Object.fromEntries(this.#sealedValues(id).map(({ name, value }) => [name, this.#secrets.open(value, valuePlace(id, name))]));
  }

  /** The secret of the codes that a site asks for. Throws `not_found`, also when there is none. */
  totpSecret(projectId: string, idOrName: string): string {
    const { id, totp_secret } = this.#row(projectId, idOrName);
    if (totp_secret === null) throw new OperationError('not_found', `the credential ${idOrName} has no TOTP secret: update it with one`);
    return this.#secrets.open(totp_secret, totpPlace(id));
  }

  countOf(projectId: string): number {
    const row = this.#database.prepare('SELECT count(*) AS count FROM credentials WHERE project_id = ?').get(projectId);
    return (row as { count: number }).count;
  }

  #row(projectId: string, idOrName: string): Row {
    const select = (column: 'id' | 'name') =>
      this.#database.prepare(`${selectCredentials} WHERE project_id = ? AND ${column} = ?`).get(projectId, idOrName) as Row | undefined;
    const row = select('id') ?? select('name');
    if (!row) throw new OperationError('not_found', `no credential has the id or name ${idOrName}`);
    return row;
  }

  #sealedValues(id: string): { name: string; value: string }[] {
    const select = this.#database.prepare('SELECT name, value FROM credential_values WHERE credential_id = ? ORDER BY rowid');
    return select.all(id) as { name: string; value: string }[];
  }

  #storeValues(id: string, values: Record<string, string>): void {
    const store = this.#database.prepare(
      'INSERT INTO credential_values (credential_id, name, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    );
    for (const [name, value] of Object.entries(values)) store.run(id, name, this.#secrets.seal(value, valuePlace(id, name)));
  }

  #sealedTotp(id: string, secret: string | undefined): string | null {
    return secret ? this.#secrets.seal(secret, totpPlace(id)) : null;
  }

  #write(name: string, work: () => void): void {
    const write = () => inTransaction(this.#database, work);
    unlessTaken(write, () => `a credential named ${name} exists already: choose another name, or update that one`);
  }
}

function valuePlace(id: string, name: string): string {
  return `credential ${id} value ${name}`;
}

function totpPlace(id: string): string {
  return `credential ${id} totp`;
}

function toCredential(row: Row): Credential {
  return {
    id: row.id,
    name: row.name,
    domain: row.domain,
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
    has_values: row.has_values === 1,
    has_totp_secret: row.totp_secret !== null,
    sso_provider: row.sso_provider,
  };
}
