import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of a program of the system; `undefined` if the system has none with this name. */
export function commandPath(name: string): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  return directories.map((directory) => join(directory, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
