import { existsSync, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import type { Examined, Finding } from './finding.ts';
import { configNames, testSources } from './test-sources.ts';

const { peerDependencies } = createRequire(import.meta.url)('playwright-pool/package.json') as {
  peerDependencies: { '@playwright/test': string };
};

/** A program or a file that loads Playwright, and the directory of that Playwright. */
type Copy = { by: string; directory: string };

/** Checks the version of Playwright, and that everything loads the same copy: it can't be loaded twice. */
export async function checkPlaywright(examined: Examined): Promise<Finding> {
  const check = 'Playwright';
  const needed = peerDependencies['@playwright/test'];
  const { directory } = examined;
  const manifest = resolved('@playwright/test', directory);
  if (manifest === undefined) {
    const message = `@playwright/test is not installed in ${directory}`;
    return {
      check,
      level: 'failure',
      message,
      fix: 'run doctor in the directory of your tests, or create a project with npm init playwright@latest',
    };
  }
  const { version } = createRequire(manifest)(manifest) as { version: string };
  const message = `@playwright/test ${version}; ${needed} is needed`;
  if (!isIn(needed, version))
    return { check, level: 'failure', message, fix: 'npm install --save-dev @playwright/test@latest' };
  const other = await otherCopy(manifest, examined);
  if (other === undefined) return { check, level: 'ok', message };
  const copies = `tests load ${dirname(manifest)}, and ${other.by} ${other.directory}: Playwright can't be loaded twice`;
  return { check, level: 'failure', message: copies, fix: fixOfCopies };
}

export const fixOfCopies =
  'use one version of @playwright/test and playwright in all packages of the repository; npm ls @playwright/test playwright lists the versions';

/** A Playwright besides the one of `manifest` that a run of the suite would load. */
async function otherCopy(manifest: string, { directory, config }: Examined): Promise<Copy | undefined> {
  const pool = resolved('playwright-pool', directory);
  const importers = [
    ...(pool === undefined ? [] : [{ by: 'playwright-pool loads', from: dirname(pool) }]),
    ...(await sourceDirectories(directory, config)).map((from) => ({ by: `files in ${from} load`, from })),
  ];
  for (const { by, from } of importers) {
    const found = resolved('@playwright/test', from);
    if (found !== undefined && found !== manifest) return { by, directory: dirname(found) };
  }
  // Both packages, `playwright` and `@playwright/test`, have the command, and the second one loads the first one.
  const loaded = resolved('playwright', dirname(manifest));
  const command = packageOfCommand(directory);
  if (loaded === undefined || command === undefined || command === dirname(manifest) || command === dirname(loaded))
    return undefined;
  return { by: 'npx playwright runs', directory: command };
}

/** The directories with sources of the suite. Packages of a monorepo may have a Playwright of their own. */
async function sourceDirectories(directory: string, config: string | undefined): Promise<string[]> {
  const names = config === undefined ? configNames : [config];
  const file = names.map((name) => resolve(directory, name)).find((path) => existsSync(path));
  if (file === undefined) return [];
  const sources = await testSources(file, await readFile(file, 'utf8').catch(() => ''), undefined).catch(() => []);
  return [...new Set([file, ...sources].map((source) => dirname(source)))];
}

/** The directory of the package whose program `npx playwright` runs. */
function packageOfCommand(directory: string): string | undefined {
  const command = join(directory, 'node_modules/.bin/playwright');
  if (existsSync(command)) return dirname(realpathSync(command));
  return directory === dirname(directory) ? undefined : packageOfCommand(dirname(directory));
}

/** The manifest of a package as sources in a directory find it. */
function resolved(name: string, directory: string): string | undefined {
  try {
    return createRequire(join(directory, 'package.json')).resolve(`${name}/package.json`);
  } catch {
    return undefined;
  }
}

/** Whether a version is in a range of package.json, such as `^20.19 || >=22.12` or `>=1.61 <2`. */
export function isIn(range: string, version: string): boolean {
  const [major = 0, minor = 0] = numbersIn(version);
  const fits = (part: string): boolean => {
    const [partMajor = 0, partMinor = 0] = numbersIn(part);
    const reaches = major === partMajor ? minor >= partMinor : major > partMajor && !part.startsWith('^');
    return reaches !== part.startsWith('<');
  };
  return range.split(' || ').some((alternative) => alternative.split(' ').every(fits));
}

function numbersIn(text: string): number[] {
  return Array.from(text.matchAll(/\d+/g), Number);
}
