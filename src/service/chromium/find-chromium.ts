import path from 'node:path';
import { invalidField, OperationError } from '../../contract/errors.ts';
import { firstExecutable, inPath } from '../process/children/executables.ts';
import { installedBuilds, namedBuild, type Environment } from './playwright-builds.ts';

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
    if (found) return found.executable;
  }
  const name = mayBeShell ? 'chromium-headless-shell' : 'chromium';
  throw new OperationError(
    'no_chromium',
    `no Chromium was found on this machine; install one with \`npx playwright install --with-deps ${name}\`, or set PLAYWRIGHT_POOL_CHROMIUM to its path`,
  );
}

/** A Chromium of this machine. `name`: Playwright's name for its kind. `version`: that of a build of Playwright. */
export type FoundBrowser = {
  name: string;
  executable: string;
  source: 'playwright' | 'system' | 'option';
  version?: string | undefined;
};

/** One Chromium of each kind that this machine has. If `executable` is given, there is no other one. */
export async function findAllChromiums(
  executable: string | undefined,
  environment: Environment,
): Promise<FoundBrowser[]> {
  if (executable !== undefined) {
    const found = await findChromium(false, executable, environment);
    return [{ name: kindOf(executable).name, executable: found, source: 'option' }];
  }
  const found = await Promise.all(kinds.map((kind) => findKind(kind, environment)));
  return found.filter((browser) => browser !== undefined);
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
  const found = await findAllChromiums(executable, environment);
  const named = found.find(({ name }) => name === channel);
  if (named) return named.executable;
  const names = found.map(({ name }) => name);
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
): Promise<FoundBrowser | undefined> {
  const { name } = kind;
  const named = await namedBuild(name);
  const builds = (await installedBuilds(kind, environment)).sort((a, b) => b.revision - a.revision);
  const build = builds.find(({ revision }) => named?.revisions.includes(revision)) ?? builds[0];
  if (build) {
    const isNamed = named?.revisions.includes(build.revision) ?? false;
    if (named && !isNamed) {
      const missing = `Playwright ${named.playwright} was made for build ${named.revisions[0]} of ${name}, which is not installed`;
      warn(`${missing}; using build ${build.revision}. Run npx playwright install ${name}`);
    }
    const { executable } = build;
    return { name, executable, source: 'playwright', version: isNamed ? named?.browserVersion : undefined };
  }
  const executable = await firstExecutable(inSystem(kind, environment));
  return executable === undefined ? undefined : { name, executable, source: 'system' };
}

function inSystem(kind: Kind, environment: Environment): string[] {
  const places = kind.places[process.platform] ?? [];
  if (process.platform !== 'win32')
    return [...kind.commands.flatMap((command) => inPath(command, environment)), ...places];
  const roots = [environment['LOCALAPPDATA'], environment['PROGRAMFILES'], environment['PROGRAMFILES(X86)']];
  return roots.flatMap((root) => (root === undefined ? [] : places.map((place) => path.join(root, place))));
}
