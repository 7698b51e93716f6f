import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Whether the system has a program with this name. */
export function hasCommand(name: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((directory) => isExecutable(join(directory, name)));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
