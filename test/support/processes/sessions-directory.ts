import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** This file, for imports in suites of other directories. */
export const sessionsDirectoryFile = fileURLToPath(import.meta.url);

/**
 * The directory with the files of a service's sessions. The data directory names it if it is elsewhere, because the
 * users of sessions can't enter the data directory.
 */
export function sessionsDirectory(dataDirectory: string): string {
  const record = join(dataDirectory, 'sessions-directory');
  return existsSync(record) ? readFileSync(record, 'utf8') : join(dataDirectory, 'sessions');
}

/** The names of the sessions' directories. Programs and the namespaces of later sessions have others there. */
export function sessionsIn(dataDirectory: string): string[] {
  return readdirSync(sessionsDirectory(dataDirectory)).filter((name) => !/^(program|spare)-/.test(name));
}
