import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import { installedBuilds, namedBuild, type Environment } from '../chromium/playwright-builds.ts';
import { firstExecutable, inPath } from '../process/children/executables.ts';
import type { OtherEngine } from '../sessions/launch.ts';
import type { InstalledPlaywright } from './installed-playwright.ts';

/** A browser on this machine. `directory` holds the whole program. `isForeign`: it isn't a build of Playwright. */
export type EngineBuild = {
  executable: string;
  directory: string;
  isForeign: boolean;
  version: string | undefined;
};

/** The programs in Playwright's builds for Linux, macOS and Windows. */
const programs: { readonly [name in OtherEngine | 'ffmpeg']: string[] } = {
  firefox: ['firefox', 'Nightly.app/Contents/MacOS/firefox', 'firefox.exe'],
  webkit: ['pw_run.sh', 'Playwright.exe'],
  ffmpeg: ['ffmpeg-linux', 'ffmpeg-mac', 'ffmpeg-win64.exe'],
};

/**
 * Returns the build of an engine for a version of Playwright: the version's own one, else the Firefox of the service's
 * option. Throws `no_browser` with the command that installs it.
 */
export async function findEngine(
  engine: OtherEngine,
  playwright: InstalledPlaywright,
  { firefox, environment }: { firefox: string | undefined; environment: Environment },
): Promise<EngineBuild> {
  const own = await ownBuild(engine, playwright, environment);
  if (own) return own;
  const named = engine === 'firefox' ? firefox : undefined;
  if (named !== undefined) {
    const executable = await firstExecutable([path.resolve(named), ...inPath(named, environment)]);
    if (executable !== undefined) {
      const version = await versionOfFirefox(executable);
      return { executable, directory: path.dirname(executable), isForeign: true, version };
    }
    throw new OperationError(
      'no_browser',
      `the Firefox executable ${named} does not exist or cannot be run; correct its path`,
    );
  }
  const { version } = playwright;
  const command = `npx playwright@${version} install --with-deps ${engine}`;
  const other = engine === 'firefox' ? ', or name a Firefox by --firefox or PLAYWRIGHT_POOL_FIREFOX' : '';
  throw new OperationError(
    'no_browser',
    `this machine has no ${engine} for Playwright ${version}: install it with \`${command}\`${other}`,
  );
}

/** The build that a version of Playwright was made for. Its ffmpeg records videos. `undefined` if it isn't installed. */
export async function ownBuild(
  engine: OtherEngine | 'ffmpeg',
  { directory }: Pick<InstalledPlaywright, 'directory'>,
  environment: Environment,
): Promise<EngineBuild | undefined> {
  const named = await namedBuild(engine, directory);
  const builds = await installedBuilds({ name: engine, files: programs[engine] }, environment);
  const build = builds.find(({ revision }) => named?.revisions.includes(revision));
  return build && { ...build, isForeign: false, version: named?.browserVersion };
}

/** Each Firefox has its version in a file beside its program. */
async function versionOfFirefox(executable: string): Promise<string | undefined> {
  const program = await realpath(executable);
  const text = await readFile(path.join(path.dirname(program), 'application.ini'), 'utf8').catch(() => '');
  return /^Version=(\S+)$/m.exec(text)?.[1];
}
