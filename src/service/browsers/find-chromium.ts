import { access, constants, readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';

/** The variables of the environment that say where programs and the display are. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The path of a Chromium: `executable` where given, else Playwright's newest installed one, else the system's.
 * Headless browsers are started with chrome-headless-shell where there is one: it opens a page in a third of the time.
 * Throws `unavailable` where there is none.
 */
export async function findChromium(headless: boolean, executable: string | undefined, environment: Environment): Promise<string> {
  if (executable !== undefined) {
    const found = await firstExecutable([path.resolve(executable), ...inPath([executable], environment)]);
    if (found !== undefined) return found;
    throw new OperationError('unavailable', `the Chromium executable ${executable} does not exist or cannot be run; correct its path`);
  }
  const kinds = headless ? [headlessShell, chromium] : [chromium];
  for (const kind of kinds) {
    const found = (await installedByPlaywright(kind, environment)) ?? (await firstExecutable(inSystem(kind, environment)));
    if (found !== undefined) return found;
  }
  const name = headless ? 'chromium-headless-shell' : 'chromium';
  throw new OperationError(
    'unavailable',
    `no Chromium was found on this machine; install one with \`npx playwright install --with-deps ${name}\`, or say in PLAYWRIGHT_POOL_CHROMIUM where one is`,
  );
}

/** Whether a browser with a window can be started here. */
export function hasDisplay(environment: Environment): boolean {
  return process.platform !== 'linux' || Boolean(environment['DISPLAY'] ?? environment['WAYLAND_DISPLAY']);
}

/** Where a kind of Chromium is found: in directories of Playwright, under names in PATH, and at fixed places of a platform. */
type Kind = { directory: string; files: string[]; commands: string[]; places: Partial<Record<NodeJS.Platform, string[]>> };

const headlessShell: Kind = {
  directory: 'chromium_headless_shell',
  files: ['chrome-headless-shell', 'headless_shell', 'chrome-headless-shell.exe', 'headless_shell.exe'],
  commands: ['chromium-headless-shell', 'chrome-headless-shell'],
  places: {},
};

const chromium: Kind = {
  directory: 'chromium',
  files: [
    'chrome',
    'chrome.exe',
    'Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing',
    'Chromium.app/Contents/MacOS/Chromium',
  ],
  commands: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  places: {
    linux: ['/opt/google/chrome/chrome'],
    darwin: ['/Applications/Chromium.app/Contents/MacOS/Chromium', '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'],
    win32: ['Chromium/Application/chrome.exe', 'Google/Chrome/Application/chrome.exe'],
  },
};

async function installedByPlaywright(kind: Kind, environment: Environment): Promise<string | undefined> {
  const directory = playwrightDirectory(environment);
  const builds = (await entries(directory))
    .map((name) => ({ name, revision: Number(name.slice(kind.directory.length + 1)) }))
    .filter(({ name, revision }) => name.startsWith(`${kind.directory}-`) && Number.isInteger(revision))
    .sort((a, b) => b.revision - a.revision);
  for (const { name } of builds) {
    const build = path.join(directory, name);
    const platforms = await entries(build);
    // Playwright leaves this mark when the download is whole.
    if (!platforms.includes('INSTALLATION_COMPLETE')) continue;
    const found = await firstExecutable(platforms.flatMap((platform) => kind.files.map((file) => path.join(build, platform, file))));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Where Playwright keeps the programs that it installs. */
export function playwrightDirectory(environment: Environment): string {
  const { PLAYWRIGHT_BROWSERS_PATH: chosen, XDG_CACHE_HOME, LOCALAPPDATA } = environment;
  if (chosen !== undefined && chosen !== '' && chosen !== '0') return path.resolve(chosen);
  const home = homedir();
  if (process.platform === 'darwin') return path.join(home, 'Library', 'Caches', 'ms-playwright');
  if (process.platform === 'win32') return path.join(LOCALAPPDATA ?? path.join(home, 'AppData', 'Local'), 'ms-playwright');
  return path.join(XDG_CACHE_HOME ?? path.join(home, '.cache'), 'ms-playwright');
}

function inSystem(kind: Kind, environment: Environment): string[] {
  const places = kind.places[process.platform] ?? [];
  if (process.platform !== 'win32') return [...inPath(kind.commands, environment), ...places];
  const roots = [environment['LOCALAPPDATA'], environment['PROGRAMFILES'], environment['PROGRAMFILES(X86)']];
  return roots.flatMap((root) => (root === undefined ? [] : places.map((place) => path.join(root, place))));
}

function inPath(commands: string[], environment: Environment): string[] {
  const directories = (environment['PATH'] ?? '').split(path.delimiter).filter((directory) => path.isAbsolute(directory));
  return commands.flatMap((command) => directories.map((directory) => path.join(directory, command)));
}

async function firstExecutable(files: string[]): Promise<string | undefined> {
  for (const file of files) {
    try {
      await access(file, constants.X_OK);
      if ((await stat(file)).isFile()) return file;
    } catch {
      // Not this one.
    }
  }
  return undefined;
}

async function entries(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch {
    return [];
  }
}
