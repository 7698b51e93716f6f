import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Isolation } from './isolation.ts';
import { builtFile } from '../process/children/executables.ts';

/** The paths of Node, of a compiled script, and of the loader of TypeScript if it is installed. */
export type RunnerPrograms = { node: string; runner: string; loader?: string };

/** Finds the programs of a process that runs callers' code, for every system user. `name` is the script. */
export async function runnerPrograms(isolation: Isolation, name: string): Promise<RunnerPrograms> {
  const node = await isolation.program(process.execPath, process.execPath);
  const runner = await builtProgram(isolation, name);
  const jiti = installedLoader();
  const loader = jiti && (await isolation.program(jiti, path.resolve(jiti, '../..')));
  return { node, runner, ...(loader && { loader }) };
}

/**
 * Returns the path of one of the service's compiled scripts that every system user can run. `name` is the script's path
 * in the compiled service, as for `builtFile`.
 */
async function builtProgram(isolation: Isolation, name: string): Promise<string> {
  const built = builtFile(name);
  const root = builtFile('../..');
  const program = await isolation.program(built, root);
  // Without the package's package.json, Node would not load the copy as a module.
  if (program !== built)
    await writeFile(path.join(program, path.relative(built, root), 'package.json'), '{"type":"module"}');
  return program;
}

/** The file of jiti, the loader of TypeScript. `undefined` if this optional peer dependency isn't installed. */
function installedLoader(): string | undefined {
  try {
    return fileURLToPath(import.meta.resolve('jiti'));
  } catch {
    return undefined;
  }
}
