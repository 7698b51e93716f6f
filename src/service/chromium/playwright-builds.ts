import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import { firstExecutable } from '../process/children/executables.ts';

/** Environment variables with the paths of programs and the display. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A browser that Playwright has installed. `directory` holds the whole program. */
type InstalledBuild = { revision: number; executable: string; directory: string };

/** The builds of a browser that a version of Playwright was made for. Old systems have a revision of their own. */
type NamedBuild = { revisions: number[]; playwright: string; browserVersion: string | undefined };

/** The complete builds of a browser. `files` are the names of its program on all platforms, in the build or one level below. */
export async function installedBuilds(
  { name, files }: { name: string; files: string[] },
  environment: Environment,
): Promise<InstalledBuild[]> {
  if (files.length === 0) return [];
  const installed = playwrightDirectory(environment);
  // The directory of an old system's build: webkit_mac14_special-2251.
  const pattern = new RegExp(`^${name.replaceAll('-', '_')}(?:_\\w+_special)?-(\\d+)$`);
  const builds = (await entries(installed)).map(async (entry) => {
    const revision = Number(pattern.exec(entry)?.[1]);
    const directory = path.join(installed, entry);
    const inside = Number.isNaN(revision) ? [] : await entries(directory);
    // Playwright writes this mark when the download is complete.
    if (!inside.includes('INSTALLATION_COMPLETE')) return [];
    const places = ['', ...inside].flatMap((place) => files.map((file) => path.join(directory, place, file)));
    const executable = await firstExecutable(places);
    return executable === undefined ? [] : [{ revision, executable, directory }];
  });
  return (await Promise.all(builds)).flat();
}

/** The builds of a browser for a `playwright-core`, by default that of the installed Playwright. `undefined` without one. */
export async function namedBuild(name: string, directory = ownPlaywright()): Promise<NamedBuild | undefined> {
  try {
    const read = async (file: string) =>
      JSON.parse(await readFile(path.join(directory ?? '', file), 'utf8')) as unknown;
    const { version } = (await read('package.json')) as { version: string };
    const { browsers } = (await read('browsers.json')) as {
      browsers: {
        name: string;
        revision: string;
        revisionOverrides?: Record<string, string>;
        browserVersion?: string;
      }[];
    };
    const named = browsers.find((browser) => browser.name === name);
    if (!named) return undefined;
    const revisions = [named.revision, ...Object.values(named.revisionOverrides ?? {})].map(Number);
    return { revisions, playwright: version, browserVersion: named.browserVersion };
  } catch {
    return undefined;
  }
}

/** The directory of the `playwright-core` of the installed `@playwright/test`. */
export function ownPlaywright(): string | undefined {
  try {
    // Package managers may hide the dependencies of a dependency, so each is resolved from the one before.
    let manifest = import.meta.url;
    for (const step of ['@playwright/test', 'playwright', 'playwright-core'])
      manifest = createRequire(manifest).resolve(`${step}/package.json`);
    return path.dirname(manifest);
  } catch {
    return undefined;
  }
}

/** The directory of the programs that Playwright installs. */
export function playwrightDirectory(environment: Environment): string {
  const { PLAYWRIGHT_BROWSERS_PATH: chosen, XDG_CACHE_HOME, LOCALAPPDATA } = environment;
  if (chosen !== undefined && chosen !== '' && chosen !== '0') return path.resolve(chosen);
  const home = homedir();
  if (process.platform === 'darwin') return path.join(home, 'Library', 'Caches', 'ms-playwright');
  if (process.platform === 'win32')
    return path.join(LOCALAPPDATA ?? path.join(home, 'AppData', 'Local'), 'ms-playwright');
  return path.join(XDG_CACHE_HOME ?? path.join(home, '.cache'), 'ms-playwright');
}

async function entries(directory: string): Promise<string[]> {
  return await readdir(directory).catch(() => []);
}
