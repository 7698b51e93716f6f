import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { access, constants, lstat, mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperationError } from '../../../contract/errors.ts';
import { newId } from '../id.ts';
import { isRunning } from './is-running.ts';
import { removeTree } from '../trees/remove-tree.ts';
import { errorCode } from '../system-error.ts';

/** User ids for sessions, from `first` to `last`. No account of the machine may have one of them. */
export type UidRange = { first: number; last: number };

/** A user id, with a group id of the same number. */
export type SystemUser = { uid: number; gid: number };

export const defaultUids: UidRange = { first: 20_000, last: 29_999 };

/** Whether this process may start others under other user ids. */
export const mayChangeUser = process.platform === 'linux' && process.getuid?.() === 0;

/** The range that `20000-29999` names; false for `off`. Throws for other texts. */
export function parsedUids(text: string): UidRange | false {
  if (text === 'off') return false;
  const [first = 0, last = 0] = /^\d{1,9}-\d{1,9}$/.test(text) ? text.split('-').map(Number) : [];
  if (first > 0 && last >= first) return { first, last };
  throw new Error(`"${text}" is not a range of user ids: write a range without 0, such as 20000-29999, or "off"`);
}

/** How long killed processes may take to end, in ms. */
const patienceMs = 5000;
/** Directories in which every user may write. */
const sharedDirectories = ['/tmp', '/var/tmp', '/dev/shm'];

/**
 * Gives each session or deployment a user id of its own, which owns its processes and files. Services of one machine
 * share the range of ids: a service claims an id by a file `<uid>.<pid of the service>.<random>`, which contains the path
 * of the user's directory. A service first writes its claim and then looks for other claims of the id, so that two
 * services never both keep it. The claim of a killed service stays until its directory and its processes are gone.
 */
export class SystemUsers {
  readonly #range: UidRange;
  readonly #claims: string;
  /** The ids of accounts, and of processes that ran when this service started. */
  readonly #foreign: ReadonlySet<number>;
  readonly #files = new Map<number, string>();

  private constructor(range: UidRange, claims: string, foreign: ReadonlySet<number>) {
    this.#range = range;
    this.#claims = claims;
    this.#foreign = foreign;
  }

  /** Throws if this process may not use the ids. */
  static async open(range: UidRange): Promise<SystemUsers> {
    if (!mayChangeUser)
      throw new Error('only a service that root runs on Linux can give sessions user ids: leave out --session-uids');
    const claims = await claimsDirectory();
    const running = await runningUsers();
    for (const name of await readdir(claims)) {
      const { uid, pid } = parsedClaim(name);
      if (isRunning(pid) || running.has(uid)) continue;
      const file = path.join(claims, name);
      const directory = await readFile(file, 'utf8').catch(() => '');
      if (directory === '' || !existsSync(directory)) await rm(file, { force: true });
    }
    return new SystemUsers(range, claims, new Set([...running.keys(), ...accounts()]));
  }

  /** Claims an id for the user that will own `directory`. Throws `unavailable` if all are in use. */
  async take(directory: string): Promise<SystemUser> {
    const { first, last } = this.#range;
    const size = last - first + 1;
    const start = randomInt(size);
    const claimed = await this.#claimed();
    for (let step = 0; step < size; step += 1) {
      const uid = first + ((start + step) % size);
      if (this.#foreign.has(uid) || claimed.includes(uid)) continue;
      const file = path.join(this.#claims, `${uid}.${process.pid}.${newId()}`);
      await writeFile(file, directory, { flag: 'wx', mode: 0o600 });
      const holders = (await this.#claimed()).filter((other) => other === uid);
      if (holders.length === 1) {
        this.#files.set(uid, file);
        return { uid, gid: uid };
      }
      await rm(file, { force: true });
    }
    const message = `all user ids from ${first} to ${last} are in use: end a browser session, or widen --session-uids`;
    throw new OperationError('unavailable', message);
  }

  /** Kills the user's processes and removes its files in directories that all users share. */
  async end({ uid }: SystemUser): Promise<void> {
    const deadline = Date.now() + patienceMs;
    for (let round = 0; ; round += 1) {
      const pids = (await runningUsers()).get(uid) ?? [];
      if (pids.length === 0) break;
      // They start others faster than they are killed one by one.
      if (round % 20 === 19) killAtOnce(uid);
      if (Date.now() > deadline)
        throw new Error(
          `the killed processes ${pids.join(', ')} of the user id ${uid} did not end within ${patienceMs / 1000} s`,
        );
      for (const pid of pids) kill(pid);
      await sleep(5);
    }
    await Promise.all(sharedDirectories.map((directory) => removeFilesOf(uid, directory)));
  }

  /** Lets others use the id. Its processes must have ended, and its directory must be gone. */
  async release({ uid }: SystemUser): Promise<void> {
    const file = this.#files.get(uid);
    this.#files.delete(uid);
    if (file !== undefined) await rm(file, { force: true });
  }

  async #claimed(): Promise<number[]> {
    return (await readdir(this.#claims)).map((name) => parsedClaim(name).uid);
  }
}

/**
 * Kills the processes of a user. Spares those of one Unix session (`setsid`), which other processes can't join.
 * Returns false if the user starts processes faster than they are killed.
 */
export function killProcessesOf(uid: number, sparedSession?: number): boolean {
  for (let round = 0; round < 50; round += 1) {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOf(name, uid, sparedSession));
    if (pids.length === 0) return true;
    for (const pid of pids) kill(Number(pid));
  }
  if (sparedSession === undefined) killAtOnce(uid);
  return sparedSession === undefined;
}

/** The directory of the claims. Only root can write to it. `/run` is empty after a restart of the machine. */
async function claimsDirectory(): Promise<string> {
  for (const parent of ['/run', '/var/tmp', '/tmp']) {
    if (
      !(await access(parent, constants.W_OK).then(
        () => true,
        () => false,
      ))
    )
      continue;
    const directory = path.join(parent, 'playwright-pool-users');
    await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
    });
    const stats = await lstat(directory);
    if (stats.isDirectory() && stats.uid === 0 && (stats.mode & 0o022) === 0) return directory;
    throw new Error(
      `${directory} must be a directory to which only root can write: remove it, and start the service again`,
    );
  }
  throw new Error(
    'user ids of sessions need a writable /run, /var/tmp or /tmp: mount one, or turn them off (--session-uids off)',
  );
}

function parsedClaim(name: string): { uid: number; pid: number } {
  const [uid, pid] = name.split('.').map(Number);
  return { uid: uid ?? 0, pid: pid ?? 0 };
}

function accounts(): number[] {
  return ['/etc/passwd', '/etc/group'].flatMap((file) =>
    (existsSync(file) ? readFileSync(file, 'utf8') : '').split('\n').map((line) => Number(line.split(':')[2])),
  );
}

/**
 * The process ids of each user. Reads `status`, because the owner of `/proc/<pid>` is root for some processes of other
 * users (those that can't be dumped).
 */
async function runningUsers(): Promise<Map<number, number[]>> {
  const users = new Map<number, number[]>();
  await Promise.all(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => {
        const status = await beginning(`/proc/${pid}/status`).catch(() => '');
        if (/^State:\s+Z/m.test(status)) return;
        const ids = /^Uid:\s+(\d+)\s+(\d+)\s+(\d+)/m.exec(status)?.slice(1).map(Number) ?? [];
        for (const uid of new Set(ids)) users.set(uid, [...(users.get(uid) ?? []), Number(pid)]);
      }),
  );
  return users;
}

/** The first 4 KiB of a file. `readFile` would take 64 KiB of memory for each file in /proc. */
async function beginning(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.allocUnsafe(4096) });
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Whether a process has not ended, belongs to the user, and isn't in the Unix session `spared`. */
function isOf(pid: string, uid: number, spared: number | undefined): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    if (/^State:\s+Z/m.test(status)) return false;
    const [, ...uids] = /^Uid:\s+(\d+)\s+(\d+)\s+(\d+)/m.exec(status) ?? [];
    if (!uids.some((own) => Number(own) === uid)) return false;
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may contain anything. After it come state, parent, group and session.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]) !== spared;
  } catch {
    return false;
  }
}

/** Kills all processes of a user in one system call, so that none can start another one. */
function killAtOnce(uid: number): void {
  spawnSync('/bin/sh', ['-c', 'kill -9 -1'], { uid, gid: uid, stdio: 'ignore' });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

async function removeFilesOf(uid: number, directory: string): Promise<void> {
  const places = (await readdir(directory).catch(() => [])).map((name) => path.join(directory, name));
  await Promise.all(
    places.map(async (place) => {
      const stats = await lstat(place).catch(() => undefined);
      if (stats?.uid === uid) await removeTree(place, { ownedBy: uid }).catch(() => {});
    }),
  );
}
