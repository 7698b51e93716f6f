import { openDatabase, type Database } from '../../../src/service/database/database.ts';
import { Table } from '../../../src/service/database/table.ts';
import { connectionsTable } from '../../../src/service/logins/connections-table.ts';
import { projectsTable } from '../../../src/service/organization/organization-tables.ts';

/** The id of a project in the databases of `openTestDatabase`. */
export const projectId = 'project';

/** A service's database with a second project. */
export async function openTestDatabase(file?: string): Promise<Database> {
  const database = await openDatabase(file);
  // Profiles and credentials change the names in connections.
  void new Table(database, connectionsTable);
  void new Table(database, projectsTable);
  const insert =
    "INSERT OR IGNORE INTO projects (id, name, status, created_at, updated_at) VALUES (?, ?, 'active', 0, 0)";
  database.prepare(insert).run(projectId, projectId);
  return database;
}
