import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import Libsql from 'libsql';
import { OperationError } from '../../contract/errors.ts';
import { errorCode } from '../process/system-error.ts';

export type Database = Libsql.Database;
export type Statement = Libsql.Statement;

/** The version of the tables. The smaller numbers were used before the first release. */
const schemaVersion = 14;

/** Another service has the database open, in another process or in this one. */
export class DatabaseInUseError extends Error {
  override name = 'DatabaseInUseError';
}

/**
 * Opens a service's database, whose tables `Table` makes. Without a file it is in memory. The file stays
 * locked until the database is closed or the process ends. Throws `DatabaseInUseError` if another service has it open.
 */
export async function openDatabase(file?: string): Promise<Database> {
  // Don't open an existing file here: closing it would release all locks that this process has on it.
  if (file !== undefined && !existsSync(file)) await writeFile(file, '', { mode: 0o600, flag: 'a' });
  // Two services that open the file at the same moment can block each other. After a random pause, one of them
  // succeeds.
  for (let attempt = 1; ; attempt += 1) {
    const database = new Libsql(file ?? ':memory:');
    try {
      database.pragma('locking_mode = EXCLUSIVE');
      database.pragma('journal_mode = WAL');
      database.pragma('synchronous = NORMAL');
      database.pragma('foreign_keys = ON');
      database.exec('BEGIN EXCLUSIVE; COMMIT');
      checkVersion(database, file);
      return database;
    } catch (error) {
      closeDatabase(database);
      if (errorCode(error) !== 'SQLITE_BUSY') throw error;
      if (attempt === 5)
        throw new DatabaseInUseError(`the database ${file} is in use by another service: stop that service`);
      await sleep(10 + Math.random() * 40);
    }
  }
}

/**
 * Closes a database and releases its locks. `close` alone would keep the locks until all statements are
 * garbage-collected. The locks end with the mode of the write-ahead log, and this deletes the log's file beside the
 * database. `isInPlace` must be false if that file may belong to another database by now.
 */
export function closeDatabase(database: Database, isInPlace = true): void {
  const unlocking = [
    'PRAGMA journal_mode = DELETE',
    'PRAGMA locking_mode = NORMAL',
    'BEGIN',
    'SELECT 1 FROM sqlite_schema',
    'COMMIT',
  ];
  for (const statement of isInPlace ? unlocking : []) {
    try {
      database.exec(statement);
    } catch {
      // Another service holds the database, so there is no lock to release.
    }
  }
  database.close();
}

/**
 * Runs a write. Throws `conflict` if a unique value exists already. `message` makes the text from the database's error.
 */
export function unlessTaken<T>(write: () => T, message: (error: Error) => string): T {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof Error) || !errorCode(error)?.startsWith('SQLITE_CONSTRAINT')) throw error;
    throw new OperationError('conflict', message(error), { cause: error });
  }
}

/**
 * Runs all of `work` or nothing. Throws the error of `work`; libsql's own function hides it if the database has already
 * rolled back.
 */
export function inTransaction<T>(database: Database, work: () => T): T {
  database.exec('BEGIN');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function checkVersion(database: Database, file: string | undefined): void {
  const [{ user_version: version }] = database.pragma('user_version') as [{ user_version: number }];
  if (version > schemaVersion) {
    throw new Error(
      `the database ${file} has version ${version}, and this release of playwright-pool knows versions up to ${schemaVersion}: use a newer release, or another data directory`,
    );
  }
  if (version > 0 && version < schemaVersion) {
    throw new Error(
      `the database ${file} has version ${version}, of a playwright-pool before its first release: use another data directory`,
    );
  }
  if (version === 0) database.pragma(`user_version = ${schemaVersion}`);
}
