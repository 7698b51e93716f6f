import { appendFileSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** One line of the ledger. `lease` is the same on the two lines of one lease; `at` is in milliseconds since the epoch. */
export type LedgerEntry = {
  event: 'acquired' | 'released';
  lease: string;
  holder: string;
  at: number;
  /** Where it was leased from; a single session has none. */
  pool?: string;
  sessionId: string;
};

export type LeaseCount = { acquired: number; released: number; leaked: number };

/**
 * The record of a run's leases: a file to which its workers and its reaper append a line before a browser is used and after it was
 * given back. A run is known by its runner, the parent process of its workers. It holds no secret.
 */
export class Ledger {
  readonly directory: string;
  readonly #file: string;

  constructor(directory: string) {
    this.directory = directory;
    this.#file = join(directory, 'ledger.jsonl');
  }

  /** Synchronous, so that no line is lost when the process ends right after. */
  append(entry: LedgerEntry): void {
    appendFileSync(this.#file, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
  }

  read(): LedgerEntry[] {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch {
      return [];
    }
    // A line that is just being written has no line break yet.
    const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LedgerEntry);
  }

  /** The leases that were acquired and not yet released, oldest first. */
  open(): LedgerEntry[] {
    const open = new Map<string, LedgerEntry>();
    for (const entry of this.read()) {
      if (entry.event === 'acquired') open.set(entry.lease, entry);
      else open.delete(entry.lease);
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

/** Makes the run's directory. Throws when somebody else owns the place. */
export function makeRunDirectory(runnerPid: number): string {
  const parent = userDirectory();
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  const { uid } = lstatSync(parent);
  if (process.getuid && uid !== process.getuid())
    throw new Error(`${parent} belongs to another user; set TMPDIR to a directory of your own`);
  const directory = runDirectory(runnerPid);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return directory;
}

function userDirectory(): string {
  const name = `playwright-pool-${process.getuid?.() ?? userInfo().username}`;
  // The reaper's socket is in there, and the path of a socket has 107 characters at most.
  return join(process.platform !== 'win32' && tmpdir().length > 60 ? '/tmp' : tmpdir(), name);
}
