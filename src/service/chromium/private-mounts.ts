import { chmod, mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Directories in which every user may write. Each session gets its own. */
const shared = ['/tmp', '/var/tmp'];
/** The size of `/dev/shm` in a session. The switches of Chromium keep it out of there. */
const sharedMemory = '64m';

/** The package with its libraries, which some programs of sessions load. */
const libraries = path
  .dirname(fileURLToPath(import.meta.resolve('playwright-pool/package.json')))
  .replace(/\/node_modules\/playwright-pool$/, '/node_modules');

/** Whether sessions can't see a file, because it is in a directory that they have for themselves. */
export function isHidden(file: string): boolean {
  return shared.some((directory) => isIn(directory, file)) && !isIn(libraries, file);
}

/**
 * The shell lines that make everything read-only for sessions but their own directories below `sessions`. Root runs them
 * once in the mount namespace from which those of all sessions are made.
 */
export async function readOnlyMounts(sessions: string): Promise<string[]> {
  const mounted = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').flatMap((line) => {
    const target = line.split(' ')[4];
    return target === undefined ? [] : [target.replaceAll(/\\(\d{3})/g, (_, code: string) => fromOctal(code))];
  });
  const own = await realpath(sessions);
  const kept = ['/proc', '/sys', '/dev/pts', '/dev/shm', own];
  const isKept = (target: string) => kept.some((place) => target === place || target.startsWith(`${place}/`));
  return [
    `mount --bind ${quoted(own)} ${quoted(own)}`,
    // A mount that another one covers can't be changed, and needn't be.
    ...[...new Set(mounted)]
      .filter((target) => !isKept(target))
      .map((target) => `mount -o remount,bind,ro ${quoted(target)} || [ ! -w ${quoted(target)} ]`),
  ];
}

/**
 * The shell lines that give a session its own `/tmp`, `/var/tmp` and `/dev/shm`. Makes `directory` and the
 * ones for that in it. No process of the session may run yet. One `mount` mounts all, because each start of it takes 3 ms.
 */
export async function privateMounts(directory: string, sessions: string): Promise<string[]> {
  // Under Yarn's Plug'n'Play the libraries are in archives, which can't be mounted.
  const packages = process.versions['pnp'] === undefined ? [await realpath(libraries)] : [];
  const visible = [await realpath(sessions), ...packages, '/tmp/.X11-unix'];
  const table: string[] = [];
  await mkdir(directory, { mode: 0o711 });
  for (const place of shared) {
    if ((await realpath(place).catch(() => '')) !== place) continue;
    const replacement = path.join(directory, place.slice(1).replaceAll('/', '-'));
    await mkdir(replacement);
    await chmod(replacement, 0o1777);
    // A directory before the ones below it: its mount would cover theirs.
    for (const needed of visible.toSorted()) {
      if (!isIn(place, needed) || !(await stat(needed).catch(() => undefined))) continue;
      const point = path.join(replacement, path.relative(place, needed));
      await mkdir(point, { recursive: true });
      table.push(tableLine(needed, point, 'none bind'));
    }
    table.push(tableLine(replacement, place, 'none rbind'));
  }
  if (await stat('/dev/shm').catch(() => undefined))
    // With a name of its own: mount leaves out a line of the table that it finds mounted.
    table.push(tableLine('session', '/dev/shm', `tmpfs nosuid,nodev,mode=1777,size=${sharedMemory}`));
  const file = path.join(directory, 'fstab');
  await writeFile(file, table.join(''), { mode: 0o600 });
  return [`mount --all --fstab ${quoted(file)}`];
}

/** A line of a table of mounts, as in fstab(5). */
function tableLine(source: string, target: string, kind: string): string {
  const [from, to] = [source, target].map((place) =>
    place.replaceAll(/[\s\\#]/g, (character) => `\\${character.codePointAt(0)!.toString(8).padStart(3, '0')}`),
  );
  return `${from} ${to} ${kind} 0 0\n`;
}

function isIn(directory: string, file: string): boolean {
  return file.startsWith(`${directory}/`);
}

function fromOctal(code: string): string {
  return String.fromCodePoint(Number.parseInt(code, 8));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
