import { randomUUID } from 'node:crypto';
import { appendFileSync, linkSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { basename, join } from 'node:path';

/** The service of a lease. `pid` is the process of an embedded one, with which all of its browsers end. */
export type LeasedFrom = { baseURL: string; projectId?: string | undefined; pid?: number | undefined };

/**
 * One line of the ledger. A lease is asked for, acquired unless that was in vain, and released in any case; `lease` is the same on its
 * lines, and at the service the session's tag. `at` is in milliseconds since the epoch.
 */
export type LedgerEntry = {
  event: 'asked' | 'acquired' | 'released';
  lease: string;
  /** `<pid of the runner>:<parallel index>:<pid of the worker>` */
  holder: string;
  at: number;
  service: LeasedFrom;
  /** Where it is leased from; a single session has none. */
  pool?: string;
  /** Until when the service may grant what was asked for, in milliseconds since the epoch. */
  until?: number;
  /** Unknown as long as it was only asked for. */
  sessionId?: string;
};

export type LeaseCount = { acquired: number; released: number; leaked: number };

/**
 * The record of a run's leases: a file to which its workers and its reaper append a line before a browser is used and after it was
 * given back. A run is known by its runner, the parent process of its workers. It holds no secret.
 */
export class Ledger {
  /** The run's own, with what its processes share. */
  readonly directory: string;
  readonly #file: string;

  constructor(directory: string) {
    this.directory = directory;
    this.#file = join(directory, 'ledger.jsonl');
  }

  /** The `User-Agent` of the run's calls, by which the service's audit records of the run are found; `undefined` before there are any. */
  get userAgent(): string | undefined {
    try {
      return readFileSync(this.#userAgentFile, 'utf8');
    } catch {
      return undefined;
    }
  }

  /** As `userAgent`, which is made for the first worker that asks. */
  makeUserAgent(): string {
    const { version } = createRequire(import.meta.url)('playwright-pool/package.json') as { version: string };
    const draft = `${this.#userAgentFile}.${process.pid}`;
    writing(this.directory, () => writeFileSync(draft, `playwright-pool/${version} run/${randomUUID()}`, { mode: 0o600 }));
    try {
      // A link appears with its content, and only for the first.
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

  /** Synchronous, so that no line is lost when the process ends right after. @throws Error when there is no room for it. */
  append(entry: LedgerEntry): void {
    writing(this.directory, () => appendFileSync(this.#file, `${JSON.stringify(entry)}\n`, { mode: 0o600 }));
  }

  read(): LedgerEntry[] {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch {
      return [];
    }
    return text.split('\n').flatMap(entryIn);
  }

  /** The last lines of the leases that were not released yet, oldest first. */
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

/** Where the ledger of a runner's leases is: in the system's temporary directory, readable by this user alone. */
export function runDirectory(runnerPid: number): string {
  return join(userDirectory(), `run-${runnerPid}`);
}

/** The pid of the runner whose directory it is; `undefined` for what is no run's directory. */
export function runnerOf(directory: string): number | undefined {
  const pid = /^run-(\d+)$/.exec(basename(directory))?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/** The pid of the worker that is an entry's holder. */
export function workerOf({ holder }: LedgerEntry): number {
  return Number(holder.split(':')[2]);
}

/** Makes the run's directory. Throws when somebody else owns the place. */
export function makeRunDirectory(runnerPid: number): string {
  const parent = userDirectory();
  writing(parent, () => mkdirSync(parent, { recursive: true, mode: 0o700 }));
  const { uid } = lstatSync(parent);
  if (process.getuid && uid !== process.getuid())
    throw new Error(`${parent} belongs to another user; set TMPDIR to a directory of your own`);
  const directory = runDirectory(runnerPid);
  writing(directory, () => mkdirSync(directory, { recursive: true, mode: 0o700 }));
  return directory;
}

/** Says what to do where the file system has no room, or refuses. */
function writing(directory: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    const advice = 'Make room there, or set TMPDIR to another directory';
    throw new Error(`The run's leases can't be written down in ${directory}: ${(error as Error).message}. ${advice}`, { cause: error });
  }
}

/** A line that is just being written, or was cut short, by a full disk for instance, is none. */
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
  // The reaper's socket is in there, and the path of a socket has 107 characters at most.
  return join(process.platform !== 'win32' && tmpdir().length > 60 ? '/tmp' : tmpdir(), name);
}
