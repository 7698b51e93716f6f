import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '../support/worker.ts';

const service = fileURLToPath(new URL('../../src/service', import.meta.url));

/**
 * Why root may make a file's calls of `node:fs`, although a session's user can change directories:
 *
 * - service: no path leads below a session
 * - new: the paths are in directories that only root can change
 * - open: the paths start at open or frozen directories, and the last name isn't followed
 * - look: a call changes nothing, and its answer gives away no content
 * - user: the process has the rights of the session's user only
 * - shared: only for sessions that run as the service's user
 */
type Reason = 'service' | 'new' | 'open' | 'look' | 'user' | 'shared';

/** The functions of `node:fs` that each file calls, and how often. */
const safeCalls: Record<string, [Reason, string]> = {
  'apps/app-installer.ts': ['open', 'existsSync 2, lstat 2, mkdir 1, readFile 1, readdir 1, rename 1, stat 1'],
  'apps/deployment-operations.ts': ['service', 'realpath 1'],
  'apps/deployments.ts': ['service', 'mkdir 2, readdir 1, stat 1'],
  'apps/package-managers.ts': ['service', 'existsSync 2, realpath 1'],
  'apps/process/app-processes.ts': ['service', 'readFileSync 1'],
  'apps/process/load-apps.ts': ['user', 'existsSync 1'],
  'chromium/built-program.ts': ['service', 'writeFile 1'],
  'chromium/chromium.ts': ['service', 'symlink 1, unlink 1'],
  'chromium/isolated-user.ts': ['new', 'chmod 1, chown 1, copyFile 1'],
  'chromium/isolation.ts': ['new', 'chmod 1, chown 1, mkdir 2, rename 1'],
  'chromium/network/socket-owner.ts': ['service', 'readFileSync 1, readdirSync 1'],
  'chromium/orphans.ts': ['service', 'readFileSync 1, readdirSync 1'],
  'chromium/playwright-builds.ts': ['service', 'readFile 1, readdir 1'],
  'chromium/private-mounts.ts': ['new', 'chmod 1, mkdir 3, readFile 1, realpath 4, stat 2, writeFile 1'],
  'dashboard/assets.ts': ['service', 'readFileSync 1'],
  'database/database.ts': ['service', 'existsSync 1, writeFile 1'],
  'database/secrets.ts': [
    'service',
    'closeSync 1, existsSync 1, fsyncSync 1, openSync 1, readFileSync 1, renameSync 1, rmSync 1, writeSync 1',
  ],
  'extensions/extensions.ts': ['service', 'mkdir 3, readdir 1, rename 1, stat 1'],
  'extensions/operations.ts': ['service', 'createReadStream 1'],
  'extensions/unpack.ts': ['service', 'stat 1'],
  'files/extract-zip.ts': ['service', 'realpath 1, symlink 1'],
  'files/files.ts': [
    'open',
    'chmod 1, chown 1, lstat 6, open 2, readFile 1, readdir 1, rename 2, rm 1, rmdir 1, stat 1, unlink 1',
  ],
  'files/log-tail.ts': ['open', 'open 1'],
  'files/pack-zip.ts': ['open', 'lstat 1, open 1, readdir 1'],
  'files/receive.ts': ['open', 'createWriteStream 1, open 1'],
  'files/upload.ts': ['new', 'createReadStream 1, mkdir 1, rename 1'],
  'files/watched-place.ts': ['open', 'lstat 1, realpath 2, stat 1'],
  'files/watched-tree.ts': ['open', 'readdir 1, stat 1, watch 1'],
  'files/watches.ts': ['service', 'readFileSync 1'],
  'http/tls.ts': ['service', 'readFile 2, unwatchFile 1, watchFile 1'],
  'logins/robot/watched-page.ts': ['service', 'readFile 1'],
  'machines/control-plane.ts': ['service', 'readFile 1'],
  'machines/launch.ts': ['service', 'createReadStream 1'],
  'playwright/engine-browser.ts': ['new', 'mkdir 1'],
  'playwright/engine-builds.ts': ['service', 'readFile 1, realpath 1'],
  'playwright/host.ts': ['user', 'mkdirSync 1, rmSync 1'],
  'playwright/hosts.ts': ['new', 'mkdir 1'],
  'playwright/installed-playwright.ts': ['service', 'readFileSync 1'],
  'process/children/child.ts': ['service', 'openSync 1, readFileSync 1, readdirSync 1'],
  'process/children/executables.ts': ['look', 'access 1, stat 1'],
  'process/children/is-running.ts': ['service', 'readFileSync 1'],
  'process/children/namespaces.ts': [
    'service',
    'closeSync 1, existsSync 1, openSync 1, readFileSync 2, readdirSync 2, readlinkSync 1',
  ],
  'process/children/system-users.ts': [
    'service',
    'access 1, closeSync 1, existsSync 2, lstat 2, mkdir 2, openSync 1, readFile 1, readFileSync 1, readSync 1, readdir 2, readdirSync 1, rename 1, rm 1, utimes 1, writeFile 1',
  ],
  'process/sha256.ts': ['service', 'createReadStream 1'],
  'process/start/data-directory.ts': [
    'service',
    'accessSync 1, existsSync 3, mkdirSync 1, readFile 1, readFileSync 2, readdir 1, realpathSync 1, rename 1, rm 3, statSync 3, writeFile 1',
  ],
  'process/start/embedded.ts': ['service', 'readFileSync 1'],
  'process/start/join-service.ts': [
    'service',
    'closeSync 1, openSync 1, readFile 1, readFileSync 1, rmSync 3, statSync 2, writeFileSync 1',
  ],
  'process/start/sessions-directory.ts': ['service', 'chmod 2, mkdir 2, mkdtemp 1, readFile 1'],
  'process/trees/copy-tree.ts': ['new', 'copyFile 1, mkdir 1, readdir 1, readlink 1, symlink 1'],
  'process/trees/frozen.ts': ['open', 'chmod 1, chown 1, closeSync 1, fstatSync 1, lstatSync 1, openSync 1, readdir 1'],
  'process/trees/hand-over.ts': ['open', 'chmod 1, chown 1, lchown 2, readdir 1, unlink 1'],
  'process/trees/reachable.ts': [
    'service',
    'chmod 3, copyFile 1, existsSync 2, link 1, lstat 1, mkdir 2, readdir 1, realpath 2, rename 1, rm 1, stat 2',
  ],
  'process/trees/remove-tree.ts': ['open', 'chmod 1, readdir 2, rename 1, rm 2, rmdir 1, unlink 2'],
  'processes/kept-bytes.ts': ['service', 'open 1, unlink 1'],
  'processes/program.ts': ['service', 'readlinkSync 1'],
  'processes/session-process.ts': ['service', 'readFileSync 2'],
  'processes/surroundings.ts': ['look', 'realpath 1, stat 2'],
  'processes/terminal-host.ts': ['user', 'readSync 2'],
  'profiles/profile-directories.ts': [
    'open',
    'mkdir 2, open 2, readFile 1, readdir 2, rename 1, statfs 1, writeFile 1',
  ],
  'replays/encoder.ts': ['new', 'mkdir 1, mkdtemp 1, readFile 1'],
  'replays/replays.ts': ['service', 'createReadStream 1, mkdir 1, open 2, readdir 1, rm 3, stat 2'],
  'service.ts': ['service', 'mkdtemp 1'],
  'sessions/cdp/attached-path.ts': ['look', 'closeSync 1, fstatSync 1, openSync 1, readFileSync 1, readdirSync 1'],
  'sessions/cdp/cdp-inspection.ts': ['shared', 'mkdirSync 1'],
  'sessions/confined-path.ts': ['open', 'lstat 1, mkdir 1, open 1, readlink 2, realpath 2'],
  'sessions/local/session-extensions.ts': ['new', 'chmod 1, mkdir 1'],
  'sessions/local/session-files.ts': ['new', 'lstatSync 1, mkdir 2, readdir 2, rename 2'],
  'sessions/local/session-home.ts': ['new', 'mkdir 1'],
};

test('each call of node:fs in the service has a reason why no session can redirect it', () => {
  const files = readdirSync(service, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
  const found: Record<string, string> = {};
  for (const file of files.toSorted()) {
    const source = readFileSync(path.join(service, file), 'utf8');
    // Other forms of imports would hide calls.
    const imports = [...source.matchAll(/(from|import\(|require\() ?'node:fs(\/promises)?'/g)];
    const named = [...source.matchAll(/^import (?:type )?\{[^}]*\} from 'node:fs(?:\/promises)?';$/gm)];
    expect(named, file).toHaveLength(imports.length);
    const calls = callsIn(source);
    if (calls !== '') found[file] = calls;
  }
  const safe = Object.fromEntries(Object.entries(safeCalls).map(([file, [, calls]]) => [file, calls]));
  expect(found, 'read the rule in CONTRIBUTING.md about trees, then list the new call with its reason').toEqual(safe);
});

function callsIn(source: string): string {
  return [...source.matchAll(/^import \{([^}]*)\} from 'node:fs(?:\/promises)?';$/gm)]
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.trim())
    .filter((name) => /^\w+$/.test(name))
    .toSorted()
    .map((name) => [name, [...source.matchAll(new RegExp(`(?<![\\w.#])${name}\\(`, 'g'))].length] as const)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
