import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../process/built-file.ts';
import type { Isolation } from './isolation.ts';

/** The path of a built program of the service that every user can start. `name` is as in `builtFile`. */
export async function builtProgram(isolation: Isolation, name: string): Promise<string> {
  const built = builtFile(name);
  const root = builtFile('../..');
  const program = await isolation.program(built, root);
  // Without the package's package.json, Node would not load the copy as a module.
  if (program !== built)
    await writeFile(path.join(program, path.relative(built, root), 'package.json'), '{"type":"module"}');
  return program;
}

/** The file of jiti, which is an optional peer dependency. */
export function installedLoader(): string | undefined {
  try {
    return fileURLToPath(import.meta.resolve('jiti'));
  } catch {
    return undefined;
  }
}
