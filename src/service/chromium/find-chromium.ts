import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import { invalidField, OperationError } from '../../contract/errors.ts';
import { firstExecutable, inPath } from '../process/children/executables.ts';

/** Environment variables with the paths of programs and the display. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the path of a Chromium: `executable` if given, else the build that the installed Playwright was made for,
 * else another build in Playwright's cache, else the system's. Prefers chrome-headless-shell if `mayBeShell`: it opens
 * a page in a third of the time, but has neither windows nor extensions. Calls `warn` with a text if Playwright was
 * made for another build. Throws `no_chromium` if there is no Chromium.
 */
export async function findChromium(
  mayBeShell: boolean,
  executable: string | undefined,
  environment: Environment,
  warn: (text: string) => void = () => {},
): Promise<string> {
  if (executable !== undefined) {
    const found = await firstExecutable([path.resolve(executable), ...inPath(executable, environment)]);
    if (found !== undefined) return found;
    throw new OperationError(
      'no_chromium',
      `the Chromium executable ${executable} does not exist or cannot be run; correct its path`,
    );
  }
  for (const kind of mayBeShell ? [headlessShell, chromium, chrome] : [chromium, chrome]) {
    const found = await findKind(kind, environment, warn);
    if (found !== undefined) return found;
  }
  const name = mayBeShell ? 'chromium-headless-shell' : 'chromium';
  throw new OperationError(
    'no_chromium',
    `no Chromium was found on this machine; install one with \`npx playwright install --with-deps ${name}\`, or set PLAYWRIGHT_POOL_CHROMIUM to its path`,
  );
}

/**
 * Returns the path of the browser that a client names as its `channel`. If `executable` is given, there is no other one.
 * Throws `bad_request` with the names of the browsers that this machine has.
 */
export async function findChannel(
  channel: string,
  executable: string | undefined,
  environment: Environment,
): Promise<string> {
  const found = await Promise.all(
    kinds.map(async (kind): Promise<[string, string | undefined]> => {
      if (executable === undefined) return [kind.name, await findKind(kind, environment)];
      return [kind.name, kind === kindOf(executable) ? await findChromium(false, executable, environment) : undefined];
    }),
  );
  const file = found.find(([name]) => name === channel)?.[1];
  if (file !== undefined) return file;
  const names = found.flatMap(([name, path]) => (path === undefined ? [] : [name]));
  throw invalidField(
    'launchOptions.channel',
    `the service has no browser ${JSON.stringify(channel.slice(0, 64))}, it has ${names.join(' and ') || 'none'}: choose another channel, or remove it`,
  );
}

/** Whether a browser with a window can be started here. */
export function hasDisplay(environment: Environment): boolean {
  return process.platform !== 'linux' || Boolean(environment['DISPLAY'] ?? environment['WAYLAND_DISPLAY']);
}

/**
 * A kind of Chromium: Playwright's name for it, its file names there, its commands in PATH, and its fixed paths on each
 * platform.
 */
type Kind = { name: string; files: string[]; commands: string[]; places: Partial<Record<NodeJS.Platform, string[]>> };

const headlessShell: Kind = {
  name: 'chromium-headless-shell',
  files: ['chrome-headless-shell', 'headless_shell', 'chrome-headless-shell.exe', 'headless_shell.exe'],
  commands: ['chromium-headless-shell', 'chrome-headless-shell'],
  places: {},
};

const chromium: Kind = {
  name: 'chromium',
  files: [
    'chrome',
    'chrome.exe',
    'Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing',
    'Chromium.app/Contents/MacOS/Chromium',
  ],
  commands: ['chromium', 'chromium-browser'],
  places: {
    darwin: ['/Applications/Chromium.app/Contents/MacOS/Chromium'],
    win32: ['Chromium/Application/chrome.exe'],
  },
};

const chrome: Kind = {
  name: 'chrome',
  files: [],
  commands: ['google-chrome', 'google-chrome-stable'],
  places: {
    linux: ['/opt/google/chrome/chrome'],
    darwin: ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'],
    win32: ['Google/Chrome/Application/chrome.exe'],
  },
};

const edge: Kind = {
  name: 'msedge',
  files: [],
  commands: ['microsoft-edge', 'microsoft-edge-stable'],
  places: {
    linux: ['/opt/microsoft/msedge/msedge'],
    darwin: ['/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge'],
    win32: ['Microsoft/Edge/Application/msedge.exe'],
  },
};

const kinds = [chromium, headlessShell, chrome, edge];

/** Whether a program is the headless shell, by its path. */
export function isHeadlessShell(executable: string): boolean {
  return /headless[-_]shell/.test(executable);
}

/** The kind of a program, by its path. */
function kindOf(executable: string): Kind {
  if (isHeadlessShell(executable)) return headlessShell;
  if (/msedge|microsoft[- ]edge/i.test(executable)) return edge;
  return /google[-/\\ ]chrome(?! for testing)/i.test(executable) ? chrome : chromium;
}

async function findKind(
  kind: Kind,
  environment: Environment,
  warn: (text: string) => void = () => {},
): Promise<string | undefined> {
  return (await installedByPlaywright(kind, environment, warn)) ?? (await firstExecutable(inSystem(kind, environment)));
}

async function installedByPlaywright(
  kind: Kind,
  environment: Environment,
  warn: (text: string) => void,
): Promise<string | undefined> {
  const directory = playwrightDirectory(environment);
  const prefix = `${kind.name.replaceAll('-', '_')}-`;
  const named = await namedBuild(kind.name);
  const builds = (await entries(directory))
    .map((name) => ({ name, revision: Number(name.slice(prefix.length)) }))
    .filter(({ name, revision }) => name.startsWith(prefix) && Number.isInteger(revision))
    .sort(
      (a, b) =>
        Number(b.revision === named?.revision) - Number(a.revision === named?.revision) || b.revision - a.revision,
    );
  for (const { name, revision } of builds) {
    const build = path.join(directory, name);
    const platforms = await entries(build);
    // Playwright writes this mark when the download is complete.
    if (!platforms.includes('INSTALLATION_COMPLETE')) continue;
    const found = await firstExecutable(
      platforms.flatMap((platform) => kind.files.map((file) => path.join(build, platform, file))),
    );
    if (found === undefined) continue;
    if (named && revision !== named.revision) {
      const missing = `Playwright ${named.version} was made for build ${named.revision} of ${kind.name}, which is not installed`;
      warn(`${missing}; using build ${revision}. Run npx playwright install ${kind.name}`);
    }
    return found;
  }
  return undefined;
}

/** Returns the build of a browser that the installed Playwright was made for; `undefined` if there is no Playwright. */
export async function namedBuild(
  name: string,
): Promise<{ revision: number; version: string; browserVersion: string | undefined } | undefined> {
  try {
    // Package managers may hide the dependencies of a dependency, so each is resolved from the one before.
    let manifest = import.meta.url;
    for (const step of ['@playwright/test', 'playwright', 'playwright-core']) {
      manifest = createRequire(manifest).resolve(`${step}/package.json`);
    }
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
    const list = await readFile(path.join(path.dirname(manifest), 'browsers.json'), 'utf8');
    const { browsers } = JSON.parse(list) as {
      browsers: { name: string; revision: string; browserVersion?: string }[];
    };
    const browser = browsers.find((browser) => browser.name === name);
    return browser && { revision: Number(browser.revision), version, browserVersion: browser.browserVersion };
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

function inSystem(kind: Kind, environment: Environment): string[] {
  const places = kind.places[process.platform] ?? [];
  if (process.platform !== 'win32')
    return [...kind.commands.flatMap((command) => inPath(command, environment)), ...places];
  const roots = [environment['LOCALAPPDATA'], environment['PROGRAMFILES'], environment['PROGRAMFILES(X86)']];
  return roots.flatMap((root) => (root === undefined ? [] : places.map((place) => path.join(root, place))));
}

async function entries(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch {
    return [];
  }
}
