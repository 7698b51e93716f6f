import type { Database } from '../database/database.ts';

/** All descendants of the key `:id`. Rows that are older than the column `parent_id` have no value there. */
const descendants = `WITH RECURSIVE descendants (id) AS (
  SELECT id FROM api_keys WHERE ifnull(parent_id, created_by) = :id AND id <> :id
  UNION SELECT k.id FROM api_keys k JOIN descendants d ON ifnull(k.parent_id, k.created_by) = d.id)`;

/**
 * Finds and changes the descendants of API keys. A key ends with its parent: the key that created it, or the key that
 * replaced the creator by rotation.
 */
export class KeyLineage {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Whether a key is a descendant of `ancestor`. */
  isBelow(id: string, ancestor: string): boolean {
    const found = this.#database.prepare(`${descendants} SELECT 1 FROM descendants WHERE id = :below`);
    return found.get({ id: ancestor, below: id }) !== undefined;
  }

  /** Marks all descendants of a key as deleted. */
  deleteBelow(id: string, now: number): void {
    this.#database
      .prepare(`${descendants} UPDATE api_keys SET deleted_at = :now WHERE deleted_at IS NULL AND id IN descendants`)
      .run({ id, now });
  }

  /** Lets all descendants of a key expire at `end` or earlier. In ms since the epoch. */
  shortenBelow(id: string, end: number): void {
    this.#database
      .prepare(
        `${descendants} UPDATE api_keys SET expires_at = :end
         WHERE (expires_at IS NULL OR expires_at > :end) AND id IN descendants`,
      )
      .run({ id, end });
  }

  /** Gives the children of a key to another parent, or to none. */
  moveChildren(from: string, to: string | undefined): void {
    this.#database
      .prepare(
        `UPDATE api_keys SET parent_id = ifnull(:to, id)
         WHERE ifnull(parent_id, created_by) = :from AND id <> :from AND id IS NOT :to`,
      )
      .run({ from, to: to ?? null });
  }
}
