import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { newId } from '../id.ts';
import type { Database } from './database.ts';

type Row = { name: string; salt: string; hash: string };

/** The name of the key that the service was started with. */
const ownKey = 'service';

/** The API keys of a service, of which only salted hashes are stored. */
export class ApiKeyStore {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Makes `key` the service's own key; the one it had before opens nothing any more. */
  setOwn(key: string): void {
    const own = this.#valid().filter(({ name }) => name === ownKey);
    if (own.length === 1 && matches(own[0]!, key)) return;
    const now = this.#clock.now();
    const salt = randomBytes(16).toString('hex');
    this.#database.transaction(() => {
      this.#database.prepare('UPDATE api_keys SET deleted_at = ? WHERE name = ? AND deleted_at IS NULL').run(now, ownKey);
      this.#database
        .prepare('INSERT INTO api_keys (id, name, masked_key, salt, hash, created_at) VALUES (?, ?, ?, ?, ?, ?)')
        .run(newId(), ownKey, mask(key), salt, hashOf(salt, key), now);
    })();
  }

  /** Whether a bearer token is a key that is neither expired nor deleted. */
  accepts(token: string): boolean {
    return this.#valid().some((row) => matches(row, token));
  }

  #valid(): Row[] {
    return this.#database
      .prepare('SELECT name, salt, hash FROM api_keys WHERE deleted_at IS NULL AND (expires_at IS NULL OR expires_at > ?)')
      .all(this.#clock.now()) as Row[];
  }
}

function matches(row: Row, key: string): boolean {
  return timingSafeEqual(Buffer.from(row.hash, 'hex'), Buffer.from(hashOf(row.salt, key), 'hex'));
}

function hashOf(salt: string, key: string): string {
  return createHash('sha256').update(salt).update('\0').update(key).digest('hex');
}

/** Enough to tell keys apart, never enough to use one. */
function mask(key: string): string {
  return key.length < 16 ? '…' : `${key.slice(0, 4)}…${key.slice(-4)}`;
}
