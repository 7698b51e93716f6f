import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import { playwrightDirectory, type Environment } from '../chromium/find-chromium.ts';
import { firstExecutable, inPath } from '../process/children/executables.ts';
import type { OtherEngine } from '../sessions/launch.ts';
import type { InstalledPlaywright } from './installed-playwright.ts';

/** A browser on this machine. `directory` holds the whole program. `isForeign`: it isn't a build of Playwright. */
export type EngineBuild = { executable: string; directory: string; isForeign: boolean };

/** The programs in Playwright's builds for Linux, macOS and Windows. */
const programs: { readonly [engine in OtherEngine]: string[] } = {
  firefox: ['firefox/firefox', 'firefox/Nightly.app/Contents/MacOS/firefox', 'firefox/firefox.exe'],
  webkit: ['pw_run.sh', 'Playwright.exe'],
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
    if (executable !== undefined) return { executable, directory: path.dirname(executable), isForeign: true };
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

async function ownBuild(
  engine: OtherEngine,
  { directory }: InstalledPlaywright,
  environment: Environment,
): Promise<EngineBuild | undefined> {
  const list = await readFile(path.join(directory, 'browsers.json'), 'utf8').catch(() => '{"browsers":[]}');
  const { browsers } = JSON.parse(list) as {
    browsers: { name: string; revision: string; revisionOverrides?: Record<string, string> }[];
  };
  const named = browsers.find(({ name }) => name === engine);
  if (!named) return undefined;
  // The revision of an old system has the name of the system in its directory: webkit_mac14_special-2251.
  const revisions = [named.revision, ...Object.values(named.revisionOverrides ?? {})];
  const installed = playwrightDirectory(environment);
  const builds = (await readdir(installed).catch(() => [])).filter(
    (name) => name.startsWith(engine) && revisions.some((revision) => name.endsWith(`-${revision}`)),
  );
  for (const name of builds) {
    const build = path.join(installed, name);
    // Playwright writes this mark when the download is complete.
    if (!(await readdir(build)).includes('INSTALLATION_COMPLETE')) continue;
    const executable = await firstExecutable(programs[engine].map((file) => path.join(build, file)));
    if (executable !== undefined) return { executable, directory: build, isForeign: false };
  }
  return undefined;
}
