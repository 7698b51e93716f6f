import { existsSync, type Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { CommandError, exitCodes } from './command-error.ts';
import { testDirectories } from './config-object.ts';

/** The names that Playwright gives to its config. */
export const configNames = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map(
  (extension) => `playwright.config.${extension}`,
);

const source = /\.[cm]?[jt]sx?$/;
const ignored = new Set(['node_modules', 'dist', 'test-results', 'playwright-report', 'blob-report']);

/**
 * Finds the sources of a suite for `init` and `doctor`: those below the directory of the config and below its `testDir`s,
 * or below the directory `chosen`. Leaves out the config itself and other suites below. `text` is the config's content.
 */
export async function testSources(config: string, text: string, chosen: string | undefined): Promise<string[]> {
  const here = dirname(config);
  const named = testDirectories(text).map((directory) => resolve(here, directory ?? ''));
  // A `testDir` below may be in a directory that is left out there, or not exist yet.
  const isUsed = (directory: string) => relative(here, directory).startsWith('..') || existsSync(directory);
  const directories = chosen === undefined ? [here, ...named.filter(isUsed)] : [chosen];
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
    if (isSearched(entry) && !(await isOtherSuite(file))) found.push(...(await sourcesBelow(file)));
    if (entry.isFile() && source.test(entry.name)) found.push(file);
  }
  return found;
}

/** The configs in the directories below, for a message. */
export async function configsBelow(directory: string, depth = 3): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const below = depth === 0 ? [] : entries.filter(isSearched);
  const configs = entries.filter(({ name }) => configNames.includes(name)).map(({ name }) => join(directory, name));
  return [
    ...configs,
    ...(await Promise.all(below.map(({ name }) => configsBelow(join(directory, name), depth - 1)))).flat(),
  ];
}

function isSearched(entry: Dirent): boolean {
  return entry.isDirectory() && !entry.name.startsWith('.') && !ignored.has(entry.name);
}

/** Whether a directory has a config of its own, or is a package with a Playwright of its own and without this package. */
async function isOtherSuite(directory: string): Promise<boolean> {
  if (configNames.some((name) => existsSync(join(directory, name)))) return true;
  const manifest = await readFile(join(directory, 'package.json'), 'utf8').catch(() => '');
  return manifest.includes('"@playwright/test"') && !manifest.includes('"playwright-pool"');
}
