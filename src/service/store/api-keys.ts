import { createHash, randomBytes } from 'node:crypto';
import type { ApiKey, ApiKeyList, ApiKeyRotate, CreatedApiKey } from '../../contract/api-keys.ts';
import { invalidField, OperationError } from '../../contract/errors.ts';
import type { Page } from '../../contract/operation.ts';
import type { Clock } from '../clock.ts';
import { newId, sameToken } from '../id.ts';
import { inTransaction, type Database, type Statement } from './database.ts';
import { pageOfRows } from './page.ts';

type Secret = { id: string; salt: string; hash: string };
type KnownKey = Secret & { name: string; project_id: string | null };

type Row = {
  id: string;
  name: string;
  masked_key: string;
  created_at: number;
  expires_at: number | null;
  life_ms: number | null;
  deleted_at: number | null;
  project_id: string | null;
  project_name: string | null;
  creator_id: string;
  creator_name: string;
};

type NewKey = { name: string; projectId: string | null; daysToExpire: number | null; createdBy: string };

const dayMs = 24 * 3600 * 1000;
const graceDays = 7;

const isValid = 'deleted_at IS NULL AND (expires_at IS NULL OR expires_at > :now)';

/** A key that nobody created counts as its own creator. */
const selectKeys = `
  SELECT k.id, k.name, k.masked_key, k.created_at, k.expires_at, k.life_ms, k.deleted_at, k.project_id, p.name AS project_name,
    creator.id AS creator_id, creator.name AS creator_name
  FROM api_keys k LEFT JOIN projects p ON p.id = k.project_id JOIN api_keys creator ON creator.id = ifnull(k.created_by, k.id)`;

/**
 * The API keys of a service, of which only salted hashes are stored. A key begins with its id, so that one row tells whether it is right:
 * the rest has 192 random bits, which a fast hash protects as well as a slow one. The key that the service was started with is another's
 * making, and known by its row's mark.
 */
export class ApiKeyStore {
  readonly #database: Database;
  readonly #clock: Clock;
  /** Prepared once, for every request needs them; each finds one row at most, which is several times faster than a list of one. */
  readonly #byId: Statement;
  readonly #own: Statement;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    const select = 'SELECT id, name, salt, hash, project_id FROM api_keys';
    this.#byId = database.prepare(`${select} WHERE id = :id AND ${isValid}`);
    this.#own = database.prepare(`${select} WHERE is_own = 1 AND ${isValid}`);
  }

  /** Whether `key` was the service's own key until it was deleted, or rotated and its grace period is over. */
  isRevoked(key: string): boolean {
    return this.#ownKeys().some((own) => !own.valid && matches(own, key));
  }

  /** Makes `key` the service's own key; the one it had before opens nothing any more. Throws for one that is revoked. */
  setOwn(key: string): void {
    if (this.isRevoked(key)) {
      throw new Error('the API key of the service was deleted, or rotated and has expired: start it with another one');
    }
    const own = this.#ownKeys().filter(({ valid }) => valid);
    if (own.some((one) => matches(one, key))) return;
    const now = this.#clock.now();
    inTransaction(this.#database, () => {
      // What the service is started with is the operator's choice and no rotation: the key's row goes with the key.
      for (const { id } of own) this.#database.prepare('UPDATE api_keys SET deleted_at = ?, is_own = 0 WHERE id = ?').run(now, id);
      const { salt, hash } = hashed(key);
      this.#database
        .prepare("INSERT INTO api_keys (id, name, masked_key, salt, hash, created_at, is_own) VALUES (?, 'service', ?, ?, ?, ?, 1)")
        .run(newId(), mask(key, 4), salt, hash, now);
    });
  }

  /** The key that a bearer token is, unless it is expired or deleted. */
  find(token: string): { id: string; name: string; email: string; projectId: string | undefined } | undefined {
    const now = this.#clock.now();
    const id = /^pwp_([a-z2-7]{24})_/.exec(token)?.[1] ?? '';
    const key = ifMatching(token, this.#own.get({ now })) ?? ifMatching(token, this.#byId.get({ id, now }));
    return key && { id: key.id, name: key.name, email: emailOf(key.id), projectId: key.project_id ?? undefined };
  }

  create({ name, projectId, daysToExpire, createdBy }: NewKey): CreatedApiKey {
    return this.#insert({ name, projectId, lifeMs: daysToExpire === null ? null : daysToExpire * dayMs, createdBy });
  }

  /** `projectId`: the only project whose keys are to be seen. Throws `not_found`. */
  get(id: string, projectId: string | undefined, options: { includeDeleted?: boolean } = {}): ApiKey {
    return toApiKey(this.#row(id, projectId, options.includeDeleted ?? false));
  }

  /** `projectId`: the only project whose keys are to be seen. */
  list({ limit, offset, query, name, ...rest }: ApiKeyList, projectId: string | undefined): Page<ApiKey> {
    const status = rest.include_deleted ? 'all' : rest.status;
    const direction = rest.sort_direction === 'asc' ? 'ASC' : 'DESC';
    const order = sortings[rest.sort_by].map((term) => `${term} ${direction}`).join(', ');
    const rows = this.#database
      .prepare(
        `${selectKeys}
         WHERE (:project IS NULL OR k.project_id = :project) AND (:name IS NULL OR k.name = :name)
           AND (:status = 'all' OR (k.deleted_at IS NOT NULL) = (:status = 'deleted'))
           AND (:query IS NULL OR instr(lower(k.name), lower(:query)) > 0 OR instr(lower(ifnull(p.name, '')), lower(:query)) > 0
             OR instr(lower(creator.name), lower(:query)) > 0 OR substr(k.id, 1, length(:query)) = :query
             OR substr(k.masked_key, 1, length(:query)) = :query)
         ORDER BY ${order}, k.rowid ${direction} LIMIT :count OFFSET :offset`,
      )
      .all({ project: projectId ?? null, name: name ?? null, status, query: query ?? null, count: limit + 1, offset }) as Row[];
    return pageOfRows(rows, toApiKey, { limit, offset });
  }

  /** Throws `not_found`. */
  rename(id: string, projectId: string | undefined, name: string): ApiKey {
    this.#row(id, projectId, false);
    this.#database.prepare('UPDATE api_keys SET name = ? WHERE id = ?').run(name, id);
    return this.get(id, projectId);
  }

  /** Throws `not_found`. */
  delete(id: string, projectId: string | undefined): void {
    this.#row(id, projectId, false);
    this.#database.prepare('UPDATE api_keys SET deleted_at = ? WHERE id = ?').run(this.#clock.now(), id);
  }

  /** Throws `not_found`, and `bad_request` when the new key would expire before the old one's grace period is over. */
  rotate(id: string, projectId: string | undefined, { days_to_expire, expire_in_days }: ApiKeyRotate, createdBy: string): CreatedApiKey {
    const old = this.#row(id, projectId, false);
    const now = this.#clock.now();
    const lifeMs = days_to_expire === undefined ? old.life_ms : days_to_expire === null ? null : days_to_expire * dayMs;
    const graceMs = (expire_in_days ?? graceDays) * dayMs;
    if (lifeMs !== null && lifeMs < graceMs) {
      const problem = `the new key would expire before the grace period of the old one, ${graceMs / dayMs} days, is over`;
      throw invalidField('days_to_expire', problem);
    }
    return inTransaction(this.#database, () => {
      const expiresAt = Math.min(old.expires_at ?? Infinity, now + graceMs);
      this.#database.prepare('UPDATE api_keys SET expires_at = ? WHERE id = ?').run(expiresAt, id);
      return this.#insert({ name: old.name, projectId: old.project_id, lifeMs, createdBy });
    });
  }

  /** How many keys open a project, and nothing else. */
  countOf(projectId: string): number {
    const count = this.#database.prepare(`SELECT count(*) AS count FROM api_keys WHERE project_id = :project AND ${isValid}`);
    return (count.get({ project: projectId, now: this.#clock.now() }) as { count: number }).count;
  }

  #insert({ name, projectId, lifeMs, createdBy }: Omit<NewKey, 'daysToExpire'> & { lifeMs: number | null }): CreatedApiKey {
    const id = newId();
    const now = this.#clock.now();
    const key = `pwp_${id}_${randomBytes(24).toString('base64url')}`;
    const { salt, hash } = hashed(key);
    this.#database
      .prepare(
        `INSERT INTO api_keys (id, name, masked_key, salt, hash, created_at, expires_at, life_ms, project_id, created_by)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(id, name, mask(key, 8), salt, hash, now, lifeMs === null ? null : now + lifeMs, lifeMs, projectId, createdBy);
    return { ...this.get(id, undefined), key };
  }

  #ownKeys(): (Secret & { valid: 0 | 1 })[] {
    return this.#database
      .prepare(`SELECT id, salt, hash, ${isValid} AS valid FROM api_keys WHERE is_own = 1`)
      .all({ now: this.#clock.now() }) as (Secret & { valid: 0 | 1 })[];
  }

  #row(id: string, projectId: string | undefined, includeDeleted: boolean): Row {
    const row = this.#database.prepare(`${selectKeys} WHERE k.id = ?`).get(id) as Row | undefined;
    const isSeen = row && (projectId === undefined || row.project_id === projectId) && (includeDeleted || row.deleted_at === null);
    if (!isSeen) throw new OperationError('not_found', `there is no API key with the id ${id}`);
    return row;
  }
}

/** Keys that never expire come last, in descending order first. */
const sortings = {
  created_at: ['k.created_at'],
  name: ['k.name COLLATE NOCASE'],
  expires_at: ['k.expires_at IS NULL', 'k.expires_at'],
};

function ifMatching(token: string, row: unknown): KnownKey | undefined {
  const key = row as KnownKey | undefined;
  return key && matches(key, token) ? key : undefined;
}

function matches(secret: Secret, key: string): boolean {
  return sameToken(secret.hash, hashOf(secret.salt, key));
}

function hashed(key: string): { salt: string; hash: string } {
  const salt = randomBytes(16).toString('hex');
  return { salt, hash: hashOf(salt, key) };
}

function hashOf(salt: string, key: string): string {
  return createHash('sha256').update(salt).update('\0').update(key).digest('hex');
}

/** Enough to tell keys apart, never enough to use one. */
function mask(key: string, shown: number): string {
  return key.length < 16 ? '...' : `${key.slice(0, shown)}...${key.slice(-4)}`;
}

/** In a domain that leads nowhere: a key is no person, and the interface wants an address of its creator. */
function emailOf(id: string): string {
  return `${id}@api-keys.invalid`;
}

function toApiKey(row: Row): ApiKey {
  const { id, name, masked_key, project_id, project_name, creator_id, creator_name } = row;
  return {
    id,
    name,
    created_at: new Date(row.created_at).toISOString(),
    created_by: { id: creator_id, email: emailOf(creator_id), name: creator_name },
    expires_at: row.expires_at === null ? null : new Date(row.expires_at).toISOString(),
    deleted_at: row.deleted_at === null ? null : new Date(row.deleted_at).toISOString(),
    project_id,
    project_name,
    masked_key,
  };
}
