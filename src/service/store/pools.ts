import type { PoolCreate } from '../../contract/browser-pools.ts';
import type { Database } from './database.ts';

/** `createdAt` in ms since the epoch. */
type StoredPool = { id: string; projectId: string; config: PoolCreate; createdAt: number };

/** `name` is the one in `config`, which is unique in the project. */
type Row = { id: string; project_id: string; name: string | null; config: string; created_at: number };

/** The stored pools: what they are, not which browsers they hold. */
export class PoolStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  list(): StoredPool[] {
    const rows = this.#database.prepare('SELECT * FROM pools ORDER BY created_at, id').all() as Row[];
    return rows.map(toStoredPool);
  }

  insert({ id, projectId, config, createdAt }: StoredPool): void {
    this.#database
      .prepare('INSERT INTO pools (id, project_id, name, config, created_at) VALUES (?, ?, ?, ?, ?)')
      .run(id, projectId, config.name ?? null, JSON.stringify(config), createdAt);
  }

  update(id: string, config: PoolCreate): void {
    this.#database.prepare('UPDATE pools SET name = ?, config = ? WHERE id = ?').run(config.name ?? null, JSON.stringify(config), id);
  }

  delete(id: string): void {
    this.#database.prepare('DELETE FROM pools WHERE id = ?').run(id);
  }
}

function toStoredPool({ id, project_id: projectId, config, created_at: createdAt }: Row): StoredPool {
  return { id, projectId, config: JSON.parse(config) as PoolCreate, createdAt };
}
