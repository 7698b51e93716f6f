import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ownPlaywright } from '../chromium/playwright-builds.ts';

/** A `playwright-core` on this machine. */
export type InstalledPlaywright = {
  version: string;
  /** The part of the version that client and host must share, such as `1.65`. */
  minor: string;
  /** The directory of the package. */
  directory: string;
  /** The file of its command line program. */
  command: string;
};

/**
 * Finds the `playwright-core` of the installed `@playwright/test`, if there is one, and those in `directories`. If two have
 * the same minor version, the later one in this list counts. Throws for a directory without this package.
 */
export function installedPlaywrights(directories: readonly string[] = []): InstalledPlaywright[] {
  const own = ownPlaywright();
  const all = [...(own === undefined ? [] : [own]), ...directories.map((directory) => path.resolve(directory))].map(
    describe,
  );
  return [...new Map(all.map((installed) => [installed.minor, installed])).values()];
}

function describe(directory: string): InstalledPlaywright {
  const { name, version = '', bin } = manifestOf(directory);
  const minor = minorOf(version);
  const command = typeof bin === 'string' ? bin : bin?.['playwright-core'];
  if (name !== 'playwright-core' || minor === undefined || command === undefined)
    throw new Error(`${directory} does not contain playwright-core: name the directory of that npm package`);
  return { version, minor, directory, command: path.join(directory, command) };
}

/** The minor version: `1.65` for `1.65.1`. `undefined` for other texts. */
export function minorOf(version: string): string | undefined {
  return /^\d+\.\d+(?=\.\d)/.exec(version)?.[0];
}

function manifestOf(directory: string): { name?: string; version?: string; bin?: string | Record<string, string> } {
  try {
    return JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8')) as object;
  } catch {
    return {};
  }
}
