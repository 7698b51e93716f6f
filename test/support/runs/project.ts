import { openDatabase, type Database } from '../../../src/service/database/database.ts';

/** The id of a project in the databases of `openTestDatabase`. */
export const projectId = 'project';

/** A service's database with a second project. */
export async function openTestDatabase(file?: string): Promise<Database> {
  const database = await openDatabase(file);
  const insert =
    "INSERT OR IGNORE INTO projects (id, name, status, created_at, updated_at) VALUES (?, ?, 'active', 0, 0)";
  database.prepare(insert).run(projectId, projectId);
  return database;
}
