import { createHash, randomBytes } from 'node:crypto';
import {
  apiKey,
  type ApiKey,
  type ApiKeyList,
  type ApiKeyRotate,
  type apiKeys,
  type CreatedApiKey,
} from '../../contract/api-keys.ts';
import { invalidField, OperationError } from '../../contract/errors.ts';
import type { BodyOutput, ListPage } from '../../contract/operation.ts';
import type { ApiKeyIdentity } from '../http/handler.ts';
import type { Clock } from '../process/clock.ts';
import { newId, sameToken } from '../process/id.ts';
import { answerOf } from '../database/answer-of.ts';
import { inTransaction, type Database, type Statement } from '../database/database.ts';
import { type RowOf, Table, pageOfRows } from '../database/table.ts';
import { KeyLineage } from './key-lineage.ts';
import { apiKeysTable, projectsTable } from './organization-tables.ts';

type Row = RowOf<typeof apiKeysTable>;
type ApiKeyUpdate = BodyOutput<typeof apiKeys.update>;
type Secret = Pick<Row, 'salt' | 'hash'>;
type NewKey = {
  name: string;
  projectId: string | null;
  /** Null: the key never expires. Default: it expires with its creator. */
  daysToExpire?: number | null | undefined;
  createdBy: string;
};

/** A key with the names of its project and of its creator. */
type Joined = Record<string, string | number | null> & {
  project_name: string | null;
  creator_id: string;
  creator_name: string;
};

const dayMs = 24 * 3600 * 1000;
const graceDays = 7;

const isValid = 'deleted_at IS NULL AND (expires_at IS NULL OR expires_at > :now)';

/** All keys with their projects and creators. The service's own key has no creator, so it counts as its own. */
const selectKeys = `
  SELECT k.*, p.name AS project_name, creator.id AS creator_id, creator.name AS creator_name
  FROM api_keys k LEFT JOIN projects p ON p.id = k.project_id JOIN api_keys creator ON creator.id = ifnull(k.created_by, k.id)`;

const answer = answerOf(apiKey, apiKeysTable);

/**
 * Stores and checks the API keys of a service. It stores only salted hashes. A key begins with its id, so that each check
 * compares one row. The rest of a key has 192 random bits, so a fast hash is as safe as a slow one. The operator chooses
 * the key with which the service starts: the service's own key (`is_own`).
 *
 * No key outlives its parent: it expires no later, and is deleted with it. A parent's successor takes over its
 * children.
 */
export class ApiKeyStore {
  readonly #database: Database;
  readonly #rows: Table<typeof apiKeysTable>;
  readonly #lineage: KeyLineage;
  readonly #clock: Clock;
  /**
   * Prepared once, because every request needs them. `get` returns at most one row, and is several times faster than a
   * list with one row.
   */
  readonly #byId: Statement;
  readonly #own: Statement;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#rows = new Table(database, apiKeysTable);
    // Answers name the project of a key.
    void new Table(database, projectsTable);
    this.#lineage = new KeyLineage(database);
    this.#clock = clock;
    const select = 'SELECT * FROM api_keys';
    this.#byId = database.prepare(`${select} WHERE id = :id AND ${isValid}`);
    this.#own = database.prepare(`${select} WHERE is_own = 1 AND ${isValid}`);
  }

  /** Whether `key` was the service's own key until it was deleted, or rotated and its grace period is over. */
  isRevoked(key: string): boolean {
    return this.#rows.list({ is_own: true }).some((own) => !this.#isValid(own) && matches(own, key));
  }

  /**
   * Makes `key` the service's own key and deletes the former one. The children of the former key become its own. Throws
   * if `key` is revoked.
   */
  setOwn(key: string): void {
    if (this.isRevoked(key)) {
      throw new Error(
        'the API key that the service starts with was deleted, or was rotated and has expired: start the service with another key',
      );
    }
    const own = this.#rows.list({ is_own: true }).filter((row) => this.#isValid(row));
    if (own.some((one) => matches(one, key))) return;
    const id = newId();
    const now = this.#clock.now();
    inTransaction(this.#database, () => {
      for (const before of own) {
        this.#rows.change({ id: before.id }, { deleted_at: now, is_own: false });
        this.#lineage.moveChildren(before.id, id);
      }
      this.#rows.insert({
        ...hashed(key),
        id,
        name: 'service',
        masked_key: mask(key, 4),
        created_at: now,
        is_own: true,
      });
    });
  }

  /** The key for a bearer token, unless it is expired or deleted. */
  find(token: string): ApiKeyIdentity | undefined {
    const now = this.#clock.now();
    const id = /^pwp_([a-z2-7]{24})_/.exec(token)?.[1] ?? '';
    const key = this.#ifMatching(token, this.#own.get({ now })) ?? this.#ifMatching(token, this.#byId.get({ id, now }));
    return key && identityOf(key);
  }

  /** The key with this id, unless it is expired or deleted. */
  findById(id: string): ApiKeyIdentity | undefined {
    const stored = this.#byId.get({ id, now: this.#clock.now() });
    return stored === undefined ? undefined : identityOf(this.#rows.read(stored as Joined));
  }

  /** Whether the key exists and is neither expired nor deleted. */
  isUsable(id: string): boolean {
    return this.#byId.get({ id, now: this.#clock.now() }) !== undefined;
  }

  /** Throws `bad_request` if the new key would outlive its creator. */
  create({ name, projectId, daysToExpire, createdBy }: NewKey): CreatedApiKey {
    const creator = this.#row(createdBy, undefined, false);
    const expires_at = this.#endOf(lifeOf(daysToExpire), creator, daysToExpire !== undefined);
    return this.#insert({ name, project_id: projectId, expires_at, created_by: createdBy, parent_id: createdBy });
  }

  /**
   * Creates a key for a process of an app. It is valid for a day, but no longer than its creator. Throws `conflict` if the
   * creator has expired or was deleted.
   */
  createForApp({ name, projectId, createdBy }: { name: string; projectId: string; createdBy: string }): CreatedApiKey {
    const creator = this.#rows.find({ id: createdBy });
    if (!creator || !this.#isValid(creator))
      throw new OperationError('conflict', 'the API key of this request has expired or was deleted: use another key');
    const expires_at = Math.min(this.#clock.now() + dayMs, creator.expires_at ?? Infinity);
    const owner = { project_id: projectId, created_by: createdBy, parent_id: createdBy };
    return this.#insert({ name, expires_at, is_of_app: true, ...owner });
  }

  /** Deletes the keys that an earlier run of the service created for the app process with this name. */
  deleteOfApp(name: string): void {
    this.#rows.change({ name, is_of_app: true, deleted_at: null }, { deleted_at: this.#clock.now() });
  }

  /** With `projectId`, finds keys of this project only. Throws `not_found`. */
  get(id: string, projectId: string | undefined, options: { includeDeleted?: boolean } = {}): ApiKey {
    this.#row(id, projectId, options.includeDeleted ?? false);
    return this.#answer(this.#database.prepare(`${selectKeys} WHERE k.id = ?`).get(id) as Joined);
  }

  /** With `projectId`, lists keys of this project only. */
  list({ limit, offset, query, name, ...rest }: ApiKeyList, projectId: string | undefined): ListPage<ApiKey> {
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
      .all({
        project: projectId ?? null,
        name: name ?? null,
        status,
        query: query ?? null,
        count: limit + 1,
        offset,
      }) as Joined[];
    return pageOfRows(rows, (row) => this.#answer(row), { limit, offset });
  }

  /** Throws `not_found`. */
  update(id: string, projectId: string | undefined, body: ApiKeyUpdate): ApiKey {
    this.#row(id, projectId, false);
    this.#rows.change({ id }, body);
    return this.get(id, projectId);
  }

  /**
   * Also deletes the keys that it created, unless they are kept. Throws `not_found`, and `bad_request` if the caller's
   * key would be deleted.
   */
  delete(
    id: string,
    projectId: string | undefined,
    options: { callerId?: string; keepsChildren?: boolean } = {},
  ): void {
    const row = this.#row(id, projectId, false);
    const { callerId, keepsChildren = false } = options;
    if (id === callerId)
      throw new OperationError('bad_request', 'a key cannot delete itself: use another key for this call');
    if (!keepsChildren && callerId !== undefined && this.#lineage.isBelow(callerId, id)) {
      throw new OperationError(
        'bad_request',
        'a key cannot delete itself: this would delete the key of the request too. Use an organization key with keep_children=true',
      );
    }
    const now = this.#clock.now();
    inTransaction(this.#database, () => {
      if (keepsChildren) this.#lineage.moveChildren(id, parentOf(row));
      else if (!row.is_of_app) this.#lineage.deleteBelow(id, now);
      this.#rows.change({ id }, { deleted_at: now });
    });
  }

  /** Throws `not_found`, and `bad_request` if the new key would expire before the old one or after the caller's. */
  rotate(
    id: string,
    projectId: string | undefined,
    { days_to_expire: days, expire_in_days }: ApiKeyRotate,
    callerId: string,
  ): CreatedApiKey {
    const old = this.#row(id, projectId, false);
    if (old.is_of_app)
      throw new OperationError(
        'bad_request',
        'this key belongs to a process of an app and ends with it: create another key',
      );
    const caller = this.#row(callerId, undefined, false);
    const now = this.#clock.now();
    const graceMs = (expire_in_days ?? graceDays) * dayMs;
    const lifeMs = days === undefined ? old.life_ms : lifeOf(days);
    const oldEnd = Math.min(old.expires_at ?? Infinity, now + graceMs);
    const end = this.#endOf(lifeMs, caller, days !== undefined);
    if ((lifeMs ?? Infinity) < graceMs || (end ?? Infinity) < oldEnd) {
      const problem = `the new key would expire before the old one, which stays valid for ${graceMs / dayMs} days (the grace period): pass more days, or a shorter expire_in_days`;
      throw invalidField('days_to_expire', problem);
    }
    return inTransaction(this.#database, () => {
      this.#rows.change({ id }, { expires_at: oldEnd });
      // If a key rotates itself or one of its ancestors, it must not become its own parent.
      const isOwn = callerId === id || this.#lineage.isBelow(callerId, id);
      const successor = this.#insert({
        name: old.name,
        project_id: old.project_id,
        expires_at: end,
        created_by: callerId,
        parent_id: isOwn ? parentOf(old) : callerId,
      });
      this.#lineage.moveChildren(id, successor.id);
      if (end !== undefined) this.#lineage.shortenBelow(successor.id, end);
      return successor;
    });
  }

  /** The number of keys that open only this project. */
  countOf(projectId: string): number {
    return this.#rows.list({ project_id: projectId }).filter((row) => this.#isValid(row)).length;
  }

  #insert(row: {
    name: string;
    project_id: string | null | undefined;
    expires_at: number | undefined;
    created_by: string;
    /** The key with which this one ends. `undefined`: none. */
    parent_id: string | undefined;
    is_of_app?: boolean;
  }): CreatedApiKey {
    const id = newId();
    const now = this.#clock.now();
    const key = `pwp_${id}_${randomBytes(24).toString('base64url')}`;
    this.#rows.insert({
      ...row,
      ...hashed(key),
      id,
      parent_id: row.parent_id ?? id,
      masked_key: mask(key, 8),
      created_at: now,
      life_ms: row.expires_at === undefined ? undefined : row.expires_at - now,
      is_own: false,
    });
    return { ...this.get(id, undefined), key };
  }

  /** The end of a new key: not later than its creator's. Throws `bad_request` if the caller `asked` for a later one. */
  #endOf(lifeMs: number | undefined, { expires_at: latest }: Row, asked: boolean): number | undefined {
    const end = lifeMs === undefined ? undefined : this.#clock.now() + lifeMs;
    if (latest === undefined || (end !== undefined && end <= latest)) return end;
    if (!asked) return latest;
    const problem = `the new key must not outlive yours, which expires at ${new Date(latest).toISOString()}: pass fewer days, or leave days_to_expire out`;
    throw invalidField('days_to_expire', problem);
  }

  #isValid({ deleted_at, expires_at = Infinity }: Row): boolean {
    return deleted_at === undefined && expires_at > this.#clock.now();
  }

  #ifMatching(token: string, stored: unknown): Row | undefined {
    const row = stored === undefined ? undefined : this.#rows.read(stored as Joined);
    return row && matches(row, token) ? row : undefined;
  }

  #row(id: string, projectId: string | undefined, includeDeleted: boolean): Row {
    const row = this.#rows.find({ id });
    const isSeen =
      row &&
      (projectId === undefined || row.project_id === projectId) &&
      (includeDeleted || row.deleted_at === undefined);
    if (!isSeen) throw new OperationError('not_found', `there is no API key with the id ${id}`);
    return row;
  }

  #answer(joined: Joined): ApiKey {
    const { project_name, creator_id: id, creator_name: name } = joined;
    return { ...answer(this.#rows.read(joined)), created_by: { id, email: emailOf(id), name }, project_name };
  }
}

/** Keys that never expire come last in ascending order, and first in descending order. */
const sortings = {
  created_at: ['k.created_at'],
  name: ['k.name COLLATE NOCASE'],
  expires_at: ['k.expires_at IS NULL', 'k.expires_at'],
};

/** In ms; `undefined` for a key that never expires. */
function lifeOf(days: number | null | undefined): number | undefined {
  return days == null ? undefined : days * dayMs;
}

function parentOf({ id, parent_id, created_by }: Row): string | undefined {
  const parent = parent_id ?? created_by;
  return parent === id ? undefined : parent;
}

function identityOf({ id, name, project_id: projectId, is_of_app: isOfApp = false }: Row): ApiKeyIdentity {
  return { id, name, email: emailOf(id), projectId, isOfApp };
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

/** The masked key: people can tell keys apart by it, but can't use it. */
function mask(key: string, shown: number): string {
  return key.length < 16 ? '...' : `${key.slice(0, shown)}...${key.slice(-4)}`;
}

/** A made-up address in a domain that doesn't exist: the interface requires an address for a key's creator. */
function emailOf(id: string): string {
  return `${id}@api-keys.invalid`;
}
