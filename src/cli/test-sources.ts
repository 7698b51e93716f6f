import { readdir } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { CommandError, exitCodes } from './command-error.ts';
import { testDirectories } from './config-object.ts';

const source = /\.[cm]?[jt]sx?$/;
const ignored = new Set(['node_modules', 'dist', 'test-results', 'playwright-report', 'blob-report']);

/**
 * Finds the sources of a suite for `init` and `doctor`: those below the directory of the config and below its `testDir`s,
 * or below the directory `chosen`. Leaves out the config itself. `text` is its content.
 */
export async function testSources(config: string, text: string, chosen: string | undefined): Promise<string[]> {
  const here = dirname(config);
  const named = testDirectories(text).map((directory) => resolve(here, directory ?? ''));
  const directories =
    chosen === undefined
      ? [here, ...named.filter((directory) => relative(here, directory).startsWith('..'))]
      : [chosen];
  const found = await Promise.all(directories.map((directory) => sourcesBelow(resolve(directory))));
  return [...new Set(found.flat())].filter((file) => file !== config);
}

async function sourcesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    const message = `${directory} cannot be read (${error.code}): name the directory of the tests with --tests`;
    throw new CommandError(message, exitCodes.usage, { cause: error });
  });
  const found: string[] = [];
  for (const entry of entries) {
    const file = join(directory, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith('.') && !ignored.has(entry.name))
      found.push(...(await sourcesBelow(file)));
    if (entry.isFile() && source.test(entry.name)) found.push(file);
  }
  return found;
}
