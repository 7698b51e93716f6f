import { execFile, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { access, constants, lstat, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { OperationError } from '../../../contract/errors.ts';
import { newId } from '../id.ts';
import { isRunning } from './is-running.ts';
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

const run = promisify(execFile);
/** The directory of the ids that were given back, in that of the claims. */
const free = 'free';
/** Of how many ids to ask when they were given back. */
const askedTimes = 100;
/** How long killed processes may take to end, in ms. */
const patienceMs = 5000;
/** Directories in which every user may write. */
const sharedDirectories = ['/tmp', '/var/tmp', '/dev/shm'];

/**
 * Gives each session or deployment a user id of its own, which owns its processes and files. An id comes back as late as
 * possible. Services of one machine share the range of ids by a directory. A service claims an id by a file
 * `<uid>.<pid of the service>.<random>`, which contains the path of the user's directory. It first writes its claim and
 * then looks for other claims of the id, so that two services never both keep it. The claim of a killed service stays
 * until its directory and its processes are gone. A claim that was given back becomes `free/<uid>`, with the time of that.
 */
export class SystemUsers {
  readonly #range: UidRange;
  readonly #claims: string;
  /** The ids of accounts, and of processes that ran when this service started. */
  readonly #foreign: ReadonlySet<number>;
  /** The claims of this service, by their ids. */
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
    const abandoned = (await claimsIn(claims)).filter(({ pid }) => !isRunning(pid));
    let running = runningUsers();
    const alive = abandoned.filter(({ uid }) => running.has(uid));
    for (const { uid } of alive) killAtOnce(uid);
    if (alive.length > 0) running = runningUsers();
    for (const { uid, name } of abandoned) {
      if (running.has(uid)) continue;
      const file = path.join(claims, name);
      const directory = await readFile(file, 'utf8').catch(() => '');
      if (directory === '' || !existsSync(directory)) await giveBack(claims, { uid, file });
    }
    return new SystemUsers(range, claims, new Set([...running.keys(), ...accounts()]));
  }

  /**
   * Claims an id for the user that will own `directory`: one that was never used, else one of those that were given back
   * first. Throws `unavailable` if all are in use.
   */
  async take(directory: string): Promise<SystemUser> {
    const used = await this.#used();
    const unused = await this.#claimFirst(this.#neverUsed(used), directory);
    if (unused) return unused;
    const reused = await this.#claimFirst(await this.#longestFree(used), directory);
    if (reused) return reused;
    const { first, last } = this.#range;
    const message = `all user ids from ${first} to ${last} are in use: end a browser session, or widen --session-uids`;
    throw new OperationError('unavailable', message);
  }

  /** Claims the first of these ids that neither this service nor another one has. */
  async #claimFirst(uids: Iterable<number>, directory: string): Promise<SystemUser | undefined> {
    for (const uid of uids) {
      if (!this.#isFree(uid)) continue;
      const file = path.join(this.#claims, `${uid}.${process.pid}.${newId()}`);
      this.#files.set(uid, file);
      const freeSince = await this.#lastFreed(uid);
      await writeFile(file, directory, { flag: 'wx', mode: 0o600 });
      const claims = (await claimsIn(this.#claims)).filter((claim) => claim.uid === uid);
      if (claims.length === 1 && freeSince === (await this.#lastFreed(uid))) return { uid, gid: uid };
      // Another service has it, or has just given it back.
      this.#files.delete(uid);
      await rm(file, { force: true });
    }
    return undefined;
  }

  /**
   * Kills the user's processes. If it shares the directories in which every user may write, removes its files there, but
   * not those in `directory`, and its objects of System V IPC. Rejects if a process or a file is left.
   */
  async end(
    { uid, gid }: SystemUser,
    { sharesDirectories, directory }: { sharesDirectories: boolean; directory: string },
  ): Promise<void> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const pids = runningUsers().get(uid) ?? [];
      if (pids.length === 0) break;
      if (Date.now() > deadline)
        throw new Error(
          `the killed processes ${pids.join(', ')} of the user id ${uid} did not end within ${patienceMs / 1000} s`,
        );
      killAtOnce(uid);
      await sleep(5);
    }
    if (!sharesDirectories) return;
    // The user itself removes them: root could be led to another file by a link.
    const own = directory.replaceAll(/[*?[\]\\]/g, String.raw`\$&`);
    const files = [...sharedDirectories, '-path', own, '-prune', '-o', '-user', String(uid)];
    await run('find', [...files, '-exec', 'rm', '-rf', '--', '{}', '+'], { uid, gid }).catch(() => {});
    await run('ipcrm', ['--all'], { uid, gid }).catch(() => {});
    const left = await filesFoundBy([...files, '-print', '-quit']);
    if (left !== '') throw new Error(`the user id ${uid} isn't given out again, because a file is left: ${left}`);
  }

  /** Lets others use the id. Its processes must have ended, and its directory must be gone. */
  async release({ uid }: SystemUser): Promise<void> {
    const file = this.#files.get(uid);
    if (file === undefined) return;
    await giveBack(this.#claims, { uid, file });
    this.#files.delete(uid);
  }

  /** The ids that were given back at any time. */
  async #used(): Promise<Set<number>> {
    return new Set((await readdir(path.join(this.#claims, free))).map(Number));
  }

  /**
   * These ids, first those that were given back first. Of thousands, it asks only for the times of some: that takes
   * milliseconds, and the first of them was given back before nearly all others.
   */
  async #longestFree(used: ReadonlySet<number>): Promise<number[]> {
    const ids = [...used].filter((uid) => this.#isFree(uid));
    const step = Math.max(1, Math.ceil(ids.length / askedTimes));
    const start = randomInt(step);
    const asked = ids.filter((_, index) => index % step === start);
    const times = await Promise.all(asked.map(async (uid) => ({ uid, since: (await this.#lastFreed(uid)) ?? 0 })));
    const longest = times.toSorted((a, b) => a.since - b.since).map(({ uid }) => uid);
    return [...longest, ...ids.filter((_, index) => index % step !== start)];
  }

  /** When the id was given back, in ms since the epoch. `undefined` for one that was never used. */
  async #lastFreed(uid: number): Promise<number | undefined> {
    return (await lstat(path.join(this.#claims, free, String(uid))).catch(() => undefined))?.mtimeMs;
  }

  #isFree(uid: number): boolean {
    const isOurs = uid >= this.#range.first && uid <= this.#range.last && !this.#foreign.has(uid);
    return isOurs && !this.#files.has(uid);
  }

  *#neverUsed(used: ReadonlySet<number>): Generator<number> {
    const { first, last } = this.#range;
    const size = last - first + 1;
    const start = randomInt(size);
    for (let step = 0; step < size; step += 1) {
      const uid = first + ((start + step) % size);
      if (!used.has(uid)) yield uid;
    }
  }
}

/** The directory of the claims. Only root can write to it. A killed service's files outlive a restart of the machine. */
async function claimsDirectory(): Promise<string> {
  for (const parent of ['/var/lib', '/run', '/var/tmp', '/tmp']) {
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
    if (stats.isDirectory() && stats.uid === 0 && (stats.mode & 0o022) === 0) {
      await mkdir(path.join(directory, free), { recursive: true, mode: 0o700 });
      return directory;
    }
    throw new Error(
      `${directory} must be a directory to which only root can write: remove it, and start the service again`,
    );
  }
  throw new Error(
    'user ids of sessions need a writable /var/lib, /run, /var/tmp or /tmp: mount one, or turn them off (--session-uids off)',
  );
}

/** The service `pid` has claimed `uid` by the file `name`. */
type Claim = { name: string; uid: number; pid: number };

async function claimsIn(directory: string): Promise<Claim[]> {
  const claims = (await readdir(directory)).map((name) => {
    const [uid, pid] = name.split('.').map(Number);
    return { name, uid: uid!, pid: pid! };
  });
  return claims.filter(({ pid }) => pid > 0);
}

async function giveBack(claims: string, { uid, file }: { uid: number; file: string }): Promise<void> {
  try {
    const now = new Date();
    await utimes(file, now, now);
    await rename(file, path.join(claims, free, String(uid)));
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

function accounts(): number[] {
  return ['/etc/passwd', '/etc/group'].flatMap((file) =>
    (existsSync(file) ? readFileSync(file, 'utf8') : '').split('\n').map((line) => Number(line.split(':')[2])),
  );
}

/**
 * The process ids of each user. Reads `status`, because the owner of `/proc/<pid>` is root for some processes of other
 * users (those that can't be dumped). Reads without promises, which take three times as much processor time here: each
 * wakes a thread.
 */
function runningUsers(): Map<number, number[]> {
  const users = new Map<number, number[]>();
  for (const pid of readdirSync('/proc')) {
    const status = /^\d+$/.test(pid) ? beginning(`/proc/${pid}/status`) : '';
    if (/^State:\s+Z/m.test(status)) continue;
    const ids = /^Uid:\s+(\d+)\s+(\d+)\s+(\d+)/m.exec(status)?.slice(1).map(Number) ?? [];
    for (const uid of new Set(ids)) users.set(uid, [...(users.get(uid) ?? []), Number(pid)]);
  }
  return users;
}

const block = Buffer.allocUnsafe(4096);

/** The first 4 KiB of a process's file; empty if it has ended. `readFileSync` would take 64 KiB of memory for each. */
function beginning(file: string): string {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, 'r');
    return block.toString('latin1', 0, readSync(descriptor, block));
  } catch {
    return '';
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Kills all processes of a user in one system call, so that none can start another one. */
function killAtOnce(uid: number): void {
  spawnSync('/bin/sh', ['-c', 'kill -9 -1'], { uid, gid: uid, stdio: 'ignore' });
}

/** The output of `find`. Others remove files while it searches, so it may miss them. Its other errors are in the result. */
async function filesFoundBy(args: string[]): Promise<string> {
  const vanished = 'No such file or directory';
  try {
    const { stdout } = await run('find', args, { env: { ...process.env, LC_ALL: 'C' } });
    return stdout.trim();
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    if (code !== 1) return String(error);
    const problems = stderr.split('\n').filter((line) => !line.endsWith(vanished));
    return [stdout, ...problems].join('\n').trim();
  }
}
