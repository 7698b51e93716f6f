// Installs missing dependencies and a missing Chromium, and builds. Uses only Node's own modules, because others may be
// missing.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const windows = process.platform === 'win32';
/** The file that a build writes last. */
const built = join(root, 'dist/fixtures/index.js');
const debianPackages = ['chromium-headless-shell', 'chromium'];

try {
  checkNode();
  if (!dependenciesInstalled()) await installDependencies();
  linkItself();
  if (!findBrowser()) await installBrowser();
  if (!upToDate()) await build();
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}

function checkNode() {
  const required = json('package.json').engines.node;
  const [runningMajor, runningMinor] = process.versions.node.split('.').map(Number);
  const fits = required.split(' || ').some((range) => {
    const [major, minor] = range.match(/\d+/g).map(Number);
    return (runningMajor === major && runningMinor >= minor) || (runningMajor > major && range.startsWith('>='));
  });
  if (fits) return;
  throw new Error(`Node ${required} is needed, this is ${process.version}: see https://nodejs.org/en/download`);
}

/** Compares npm's record of its last complete installation with the lock file. */
function dependenciesInstalled() {
  if (!existsSync(join(root, 'node_modules/.package-lock.json'))) return false;
  const installed = json('node_modules/.package-lock.json').packages;
  const { '': _project, ...wanted } = json('package-lock.json').packages;
  const isThere = ([path, { version, integrity, optional }]) =>
    installed[path] ? installed[path].version === version && installed[path].integrity === integrity : optional;
  return (
    Object.entries(wanted).every(isThere) &&
    Object.keys(installed).every((path) => wanted[path] && existsSync(join(root, path)))
  );
}

async function installDependencies() {
  say('installing dependencies (npm ci)');
  const { ok, output } = await run(['npm', 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    minutes: 10,
  });
  if (!ok) throw new Error(`npm ci failed:\n${excerpt(output)}`);
}

/**
 * Links the package into node_modules: Playwright finds reporters only there, and the examples' configs name the
 * package's reporter.
 */
function linkItself() {
  const link = join(root, 'node_modules', json('package.json').name);
  if (existsSync(link)) return;
  rmSync(link, { force: true });
  symlinkSync(windows ? root : '..', link, 'junction');
}

/** Whether the embedded service would find a Chromium. */
function findBrowser() {
  const chosen = process.env.PLAYWRIGHT_POOL_CHROMIUM?.trim();
  if (chosen && !existsSync(chosen) && programPaths(chosen).length === 0) {
    throw new Error(`PLAYWRIGHT_POOL_CHROMIUM names ${chosen}, which does not exist: correct it or unset it`);
  }
  return Boolean(chosen) || installedByPlaywright() || installedInSystem();
}

/** Accepts any complete build, like the service. Warns if it isn't the build of the installed Playwright. */
function installedByPlaywright() {
  const chosen = process.env.PLAYWRIGHT_BROWSERS_PATH;
  const directory = chosen && chosen !== '0' ? chosen : join(cacheDirectory(), 'ms-playwright');
  const builds = (existsSync(directory) ? readdirSync(directory) : []).filter(
    (name) =>
      /^chromium(_headless_shell)?-\d+$/.test(name) && existsSync(join(directory, name, 'INSTALLATION_COMPLETE')),
  );
  const { revision } = json('node_modules/playwright-core/browsers.json').browsers.find(
    ({ name }) => name === 'chromium-headless-shell',
  );
  if (builds.length > 0 && !builds.some((name) => name.endsWith(`-${revision}`))) {
    say(
      `Playwright names Chromium's build ${revision}, and installed is ${builds.join(', ')}: run npx playwright install chromium-headless-shell`,
    );
  }
  return builds.length > 0;
}

function cacheDirectory() {
  if (windows) return process.env.LOCALAPPDATA || join(homedir(), 'AppData', 'Local');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches');
  return process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
}

function installedInSystem() {
  if (windows) {
    const roots = [process.env.LOCALAPPDATA, process.env.PROGRAMFILES, process.env['PROGRAMFILES(X86)']].filter(
      Boolean,
    );
    const places = ['Chromium/Application/chrome.exe', 'Google/Chrome/Application/chrome.exe'];
    return roots.some((directory) => places.some((place) => existsSync(join(directory, place))));
  }
  if (
    process.platform === 'darwin' &&
    ['Chromium', 'Google Chrome'].some((name) => existsSync(`/Applications/${name}.app`))
  )
    return true;
  const names = [
    'chromium-headless-shell',
    'chrome-headless-shell',
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
  ];
  return names.some((name) => programPaths(name).length > 0);
}

/** Installs the headless shell, which starts faster, and the whole Chromium, which extensions need. */
async function installBrowser() {
  say('no Chromium found, downloading one (npx playwright install chromium)');
  const download = await playwright([], 'install', 'chromium');
  let attempt = download.ok ? await startBrowsers() : download;
  if (attempt.ok) return;

  const asRoot = await rootCommand();
  if (asRoot && download.ok) {
    say('it does not start; installing the libraries it needs (npx playwright install-deps chromium)');
    await playwright(asRoot, 'install-deps', 'chromium');
    attempt = await startBrowsers();
    if (attempt.ok) return;
  }
  if (asRoot && programPaths('apt-get').length > 0) {
    const apt = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq', '-o', 'DPkg::Lock::Timeout=60'];
    say('that failed; updating the list of Debian packages (apt-get update)');
    await run([...apt, 'update'], { minutes: 5 });
    for (const name of debianPackages) {
      say(`installing the Debian package ${name}`);
      attempt = await run([...apt, 'install', '--yes', '--no-install-recommends', name], { minutes: 10 });
      if (!attempt.ok) say(`that failed: ${reason(attempt.output)}`);
    }
    if (installedInSystem()) return;
  }
  throw new Error(
    `no Chromium was found and none could be installed: ${reason(attempt.output)}\n` +
      'Install one yourself (apt-get install chromium-headless-shell chromium, npx playwright install --with-deps chromium, or Google Chrome), ' +
      'or set PLAYWRIGHT_POOL_CHROMIUM to the path of one.',
  );
}

function playwright(asRoot, ...args) {
  const env = { ...process.env, PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT: '10000' };
  return run([...asRoot, process.execPath, join(root, 'node_modules/playwright/cli.js'), ...args], { minutes: 5, env });
}

/** Downloaded browsers may lack system libraries. Without a channel, Playwright starts the headless shell. */
function startBrowsers() {
  const script = `
    import { chromium } from '@playwright/test';
    for (const channel of [undefined, 'chromium'])
      await (await chromium.launch({ channel, args: ['--no-sandbox'] })).close();`;
  return run([process.execPath, '--input-type=module', '--eval', script], { minutes: 1 });
}

/** The prefix that runs a command as root without a password; `undefined` if that isn't possible. */
async function rootCommand() {
  if (windows) return undefined;
  if (process.getuid() === 0) return [];
  return programPaths('sudo').length > 0 && (await run(['sudo', '-n', 'true'], { minutes: 1 })).ok
    ? ['sudo', '-n']
    : undefined;
}

function upToDate() {
  const inputs = readdirSync(root).filter((name) => name === 'package.json' || /^tsconfig.*\.json$/.test(name));
  inputs.push('scripts/browser-scripts.mjs', 'scripts/bundle.mjs', 'package-lock.json');
  for (const directory of ['src', 'fixtures']) {
    // Includes directories: their times change when files are deleted or renamed.
    inputs.push(
      directory,
      ...readdirSync(join(root, directory), { recursive: true }).map((name) => join(directory, name)),
    );
  }
  const builtAt = statSync(built, { throwIfNoEntry: false })?.mtimeMs;
  return builtAt !== undefined && inputs.every((name) => statSync(join(root, name)).mtimeMs <= builtAt);
}

async function build() {
  say('building (npm run build)');
  const started = new Date();
  const { ok, output } = await run(['npm', 'run', 'build', '--silent'], { minutes: 5 });
  if (!ok) throw new Error(`the build failed:\n${excerpt(output)}`);
  // Changes during the build are not in it.
  utimesSync(built, started, started);
}

/** Runs a command to its end or its deadline and collects its output. Never throws. */
function run([command, ...args], { minutes, env = process.env }) {
  return new Promise((resolve) => {
    const shell = windows && command === 'npm';
    // An own process group, so that the deadline and Ctrl+C also end the command's children.
    const child = spawn(command, args, {
      cwd: root,
      env,
      shell,
      detached: !windows,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    const kill = () => {
      try {
        process.kill(windows ? child.pid : -child.pid, 'SIGTERM');
      } catch {
        // It has ended already, or belongs to root.
      }
    };
    const deadline = setTimeout(() => {
      output += `\nno end after ${minutes} min`;
      kill();
    }, minutes * 60_000);
    const interrupted = (signal) => {
      kill();
      child.once('close', () => process.exit(signal === 'SIGINT' ? 130 : 143));
    };
    process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
    const end = (ok) => {
      clearTimeout(deadline);
      process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
      resolve({ ok, output: output.trim() });
    };
    child.on('error', (error) => {
      output += error.message;
      end(false);
    });
    child.on('close', (code) => end(code === 0));
  });
}

function excerpt(output) {
  const lines = output.split('\n');
  return lines.length <= 20 ? output : [...lines.slice(0, 20), `… and ${lines.length - 20} more lines`].join('\n');
}

/** The line with the reason in a failed command's output. */
function reason(output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return (lines.find((line) => /^(E:|\w*Error:)/.test(line)) ?? lines.at(-1) ?? 'no reason given').trim();
}

function programPaths(name) {
  const directories = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return directories.map((directory) => join(directory, name)).filter((path) => existsSync(path));
}

function json(name) {
  return JSON.parse(readFileSync(join(root, name), 'utf8'));
}

function say(text) {
  process.stderr.write(`bootstrap: ${text}\n`);
}
