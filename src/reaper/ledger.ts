import { randomUUID } from 'node:crypto';
import { appendFileSync, linkSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { basename, join } from 'node:path';
import { isRunning } from '../service/process/children/is-running.ts';

/** The service that granted a lease. `pid` is the process of an embedded service. All its browsers end with this process. */
export type LeasedFrom = { baseURL: string; projectId?: string | undefined; pid?: number | undefined };

/**
 * One line of the ledger. A lease has up to three lines, one for each event, with the same id in `lease`. The session has
 * this id as a tag.
 */
export type LedgerEntry = {
  event: 'asked' | 'acquired' | 'released';
  lease: string;
  /** `<pid of the runner>:<parallel index>:<pid of the worker>` */
  holder: string;
  /** In milliseconds since the epoch. */
  at: number;
  service: LeasedFrom;
  /** The pool of the session. Sessions outside of pools have none. */
  pool?: string;
  /** The latest time at which the service may grant the lease, in milliseconds since the epoch. */
  until?: number;
  /** Unknown before the lease is acquired. */
  sessionId?: string;
};

export type LeaseCount = { acquired: number; released: number; leaked: number };

/**
 * The file that lists the leases of a test run, so that none is forgotten after a crash. The run's workers and its reaper
 * append lines. It contains no secret.
 */
export class Ledger {
  /** The directory of the run. */
  readonly directory: string;
  readonly #file: string;

  constructor(directory: string) {
    this.directory = directory;
    this.#file = join(directory, 'ledger.jsonl');
  }

  /**
   * The `User-Agent` of the run's calls. By it, the run can be found in the service's audit records. `undefined` before the
   * first worker starts.
   */
  get userAgent(): string | undefined {
    try {
      return readFileSync(this.#userAgentFile, 'utf8');
    } catch {
      return undefined;
    }
  }

  /** Returns `userAgent`. The first worker creates it. */
  makeUserAgent(): string {
    const { version } = createRequire(import.meta.url)('playwright-pool/package.json') as { version: string };
    const draft = `${this.#userAgentFile}.${process.pid}`;
    writing(this.directory, () =>
      writeFileSync(draft, `playwright-pool/${version} run/${randomUUID()}`, { mode: 0o600 }),
    );
    try {
      // Link instead of write: the file appears with its whole content, and only one process can create it.
      linkSync(draft, this.#userAgentFile);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(draft, { force: true });
    }
    return readFileSync(this.#userAgentFile, 'utf8');
  }

  get #userAgentFile(): string {
    return join(this.directory, 'user-agent');
  }

  /** Adds a line, synchronously, so that it isn't lost if the process ends. @throws Error if the disk is full. */
  append(entry: LedgerEntry): void {
    writing(this.directory, () => appendFileSync(this.#file, `${JSON.stringify(entry)}\n`, { mode: 0o600 }));
  }

  /** All complete lines. Empty if the file is missing. */
  read(): LedgerEntry[] {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch {
      return [];
    }
    return text.split('\n').flatMap(entryIn);
  }

  /** The last lines of the unreleased leases, oldest first. */
  open(): LedgerEntry[] {
    const open = new Map<string, LedgerEntry>();
    for (const entry of this.read()) {
      if (entry.event === 'released') open.delete(entry.lease);
      else open.set(entry.lease, entry);
    }
    return [...open.values()];
  }

  /** Counts the leases acquired at `since` or later, in milliseconds since the epoch. */
  count(since: number): LeaseCount {
    const acquired = new Set<string>();
    const released = new Set<string>();
    for (const entry of this.read()) {
      if (entry.event === 'acquired' && entry.at >= since) acquired.add(entry.lease);
      if (entry.event === 'released' && acquired.has(entry.lease)) released.add(entry.lease);
    }
    return { acquired: acquired.size, released: released.size, leaked: acquired.size - released.size };
  }
}

/** Whether the lease's embedded service is gone, with all its browsers. */
export function hasEnded({ pid }: Pick<LeasedFrom, 'pid'>): boolean {
  return pid !== undefined && !isRunning(pid);
}

/** The directory of a run's ledger, in the system's temporary directory. Only this user can read it. */
export function runDirectory(runnerPid: number): string {
  return join(userDirectory(), `run-${runnerPid}`);
}

/** The pid of the directory's runner; `undefined` if the directory doesn't belong to a run. */
export function runnerOf(directory: string): number | undefined {
  const pid = /^run-(\d+)$/.exec(basename(directory))?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/** The pid of the worker that has the lease. */
export function workerOf({ holder }: LedgerEntry): number {
  return Number(holder.split(':')[2]);
}

/** Makes the run's directory. Throws if another user owns its parent. */
export function makeRunDirectory(runnerPid: number): string {
  const parent = userDirectory();
  writing(parent, () => mkdirSync(parent, { recursive: true, mode: 0o700 }));
  const { uid } = lstatSync(parent);
  if (process.getuid && uid !== process.getuid())
    throw new Error(`${parent} belongs to another user: set TMPDIR to another directory`);
  const directory = runDirectory(runnerPid);
  writing(directory, () => mkdirSync(directory, { recursive: true, mode: 0o700 }));
  return directory;
}

/** Runs `write`. Adds advice to the errors of the file system. */
function writing(directory: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    const advice = 'Make room there, or set TMPDIR to another directory';
    throw new Error(`The run's leases can't be written to ${directory}: ${(error as Error).message}. ${advice}`);
  }
}

/** The entry in a line. Empty for an incomplete line: a process is writing it, or the disk was full. */
function entryIn(line: string): LedgerEntry[] {
  try {
    const entry = JSON.parse(line) as Partial<LedgerEntry>;
    return entry.lease && entry.holder && entry.service ? [entry as LedgerEntry] : [];
  } catch {
    return [];
  }
}

function userDirectory(): string {
  const name = `playwright-pool-${process.getuid?.() ?? userInfo().username}`;
  // The path of the reaper's socket, which is in this directory, may have 107 characters at most.
  return join(process.platform !== 'win32' && tmpdir().length > 60 ? '/tmp' : tmpdir(), name);
}
