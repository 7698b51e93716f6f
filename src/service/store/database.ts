import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import Libsql from 'libsql';
import { OperationError } from '../../contract/errors.ts';
import { errorCode } from '../system-error.ts';
import { migrations } from './migrations.ts';

export type Database = Libsql.Database;
export type Statement = Libsql.Statement;

/** Another process holds the database, or another service in this one. */
export class DatabaseInUseError extends Error {
  override name = 'DatabaseInUseError';
}

/**
 * Opens a service's database and brings it to the newest version; in memory where no file is named.
 * It is held exclusively until it is closed or the process is gone, however it went: a second opener gets `DatabaseInUseError`.
 */
export async function openDatabase(file?: string): Promise<Database> {
  // Never opened otherwise: closing a file gives up all locks that this process has on it.
  if (file !== undefined && !existsSync(file)) await writeFile(file, '', { mode: 0o600, flag: 'a' });
  // Two first openers can refuse each other, each holding the shared lock: the random pause lets one of them win.
  for (let attempt = 1; ; attempt += 1) {
    const database = new Libsql(file ?? ':memory:');
    try {
      database.pragma('locking_mode = EXCLUSIVE');
      database.pragma('journal_mode = WAL');
      database.pragma('synchronous = NORMAL');
      database.pragma('foreign_keys = ON');
      database.exec('BEGIN EXCLUSIVE; COMMIT');
      migrate(database, file);
      return database;
    } catch (error) {
      closeDatabase(database);
      if (errorCode(error) !== 'SQLITE_BUSY') throw error;
      if (attempt === 5) throw new DatabaseInUseError(`the database ${file} is in use by another service`);
      await sleep(10 + Math.random() * 40);
    }
  }
}

/**
 * Closes a database and lets others open it. `close` alone would leave the locks until the statements are collected as garbage:
 * they go with the exclusive mode, which ends with the next access after the write-ahead log was left. Leaving it deletes what has its
 * name, which must not be that of another service: `isInPlace` says whether the file is still where it was opened.
 */
export function closeDatabase(database: Database, isInPlace = true): void {
  const unlocking = ['PRAGMA journal_mode = DELETE', 'PRAGMA locking_mode = NORMAL', 'BEGIN', 'SELECT 1 FROM sqlite_schema', 'COMMIT'];
  for (const statement of isInPlace ? unlocking : []) {
    try {
      database.exec(statement);
    } catch {
      // Another service holds the database, and there is no lock to give up.
    }
  }
  database.close();
}

/** Writes. Throws `conflict`, with the message for the database's error, when what must be unique is taken. */
export function unlessTaken(write: () => void, message: (error: Error) => string): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof Error) || !errorCode(error)?.startsWith('SQLITE_CONSTRAINT')) throw error;
    throw new OperationError('conflict', message(error), { cause: error });
  }
}

/** Does all of `work` or nothing of it, and throws what `work` throws: libsql's own function hides that where the database has rolled back already. */
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

function migrate(database: Database, file: string | undefined): void {
  const [{ user_version: version }] = database.pragma('user_version') as [{ user_version: number }];
  if (version > migrations.length) {
    throw new Error(
      `the database ${file} has version ${version}, and this release of playwright-pool knows versions up to ${migrations.length}: use a newer release, or another data directory`,
    );
  }
  for (let next = version; next < migrations.length; next += 1) {
    inTransaction(database, () => {
      database.exec(migrations[next]!);
      database.exec(`PRAGMA user_version = ${next + 1}`);
    });
  }
}
