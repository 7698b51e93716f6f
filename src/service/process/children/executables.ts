import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The files that a command name may mean: one for each directory of `PATH`, in this order. Skips relative directories. */
export function inPath(command: string, environment: Readonly<Record<string, string | undefined>>): string[] {
  return (environment['PATH'] ?? '')
    .split(path.delimiter)
    .filter((directory) => path.isAbsolute(directory))
    .map((directory) => path.join(directory, command));
}

/** The first of the files that exists and that this process may execute. */
export async function firstExecutable(files: string[]): Promise<string | undefined> {
  for (const file of files) {
    try {
      await access(file, constants.X_OK);
      if ((await stat(file)).isFile()) return file;
    } catch {
      // The file is missing or not executable. Try the next one.
    }
  }
  return undefined;
}

/**
 * The path of a compiled file of the service. Child processes and scripts of HTML views always use the compiled files,
 * even if a test imports the TypeScript sources.
 */
export function builtFile(name: string): string {
  return path.join(
    path.dirname(fileURLToPath(import.meta.resolve('playwright-pool/package.json'))),
    'dist/src/service',
    name,
  );
}
