import type { BigIntStats, Stats } from 'node:fs';
import path from 'node:path';
import type { FileEvent } from '../../contract/files.ts';

/** The state of a file or directory when a watch last looked at it. */
export type Sight = {
  /** Stays the same if the entry is renamed. */
  identity: string;
  isDirectory: boolean;
  /** In bytes; 0 unless it is a regular file. */
  size: number;
  /** The times of the last write and of the look, in ms since the epoch. */
  written: number;
  seen: number;
};

export type Seen = { path: string; sight: Sight };

/**
 * The difference between two looks at a tree of files. `gone` lists the removed entries, each before its directory.
 * `come` lists the new entries, each after its directory.
 */
export type FileChanges = {
  gone: Seen[];
  come: Seen[];
  written: Seen[];
  replaced: { path: string; old: Sight; now: Sight }[];
  /** Entries that appeared and disappeared between the looks. */
  passed: { path: string; isWritten: boolean }[];
};

/**
 * File systems count time in steps of up to 10 ms. A file that is written again within the same step keeps its time, so
 * a time this close to the look proves nothing.
 */
const timeStepMs = 20;

export function sightOf(stats: Stats): Sight {
  const size = stats.isFile() ? stats.size : 0;
  return {
    identity: identityOf(stats),
    isDirectory: stats.isDirectory(),
    size,
    written: stats.mtimeMs,
    seen: Date.now(),
  };
}

export function identityOf(stats: Stats | BigIntStats): string {
  // The inode number alone isn't enough: the next new file may get it.
  return [stats.dev, stats.ino, stats.birthtimeMs, stats.isDirectory()].join(':');
}

/** Whether a file for which the system gave notice was written since the look `before`. */
export function wasWritten(before: Sight, now: Sight): boolean {
  return (
    before.written !== now.written || before.size !== now.size || Math.abs(before.seen - before.written) < timeStepMs
  );
}

/** Compares two states of a tree. They map paths to entries. */
export function changesBetween(before: Map<string, Sight>, now: Map<string, Sight>): FileChanges {
  const changes: FileChanges = { gone: [], come: [], replaced: [], written: [], passed: [] };
  const isOther = (one: Sight, other: Sight | undefined) =>
    other === undefined || (one.identity !== other.identity && (one.isDirectory || other.isDirectory));
  for (const [path, old] of byPath(before).toReversed()) {
    const current = now.get(path);
    if (!current || isOther(old, current)) changes.gone.push({ path, sight: old });
    else if (old.identity !== current.identity) changes.replaced.push({ path, old, now: current });
    else if (!old.isDirectory && wasWritten(old, current)) changes.written.push({ path, sight: current });
  }
  for (const [path, sight] of byPath(now)) if (isOther(sight, before.get(path))) changes.come.push({ path, sight });
  return changes;
}

function byPath(tree: Map<string, Sight>): [string, Sight][] {
  return [...tree].sort(([one], [other]) => (one < other ? -1 : 1));
}

/**
 * Turns changes into the events that watches report. An entry with a new path counts as renamed; a new file with
 * content counts as created and written. `sessionPath` turns a path in the tree into one of the session.
 */
export function fileEvents(
  { gone, come, written, replaced, passed }: FileChanges,
  sessionPath: (inTree: string) => string,
): FileEvent[] {
  const event = (type: FileEvent['type'], inTree: string, { isDirectory }: Sight) =>
    fileEvent(type, sessionPath(inTree), isDirectory);
  const arrived = new Set([...come.map(({ sight }) => sight.identity), ...replaced.map(({ now }) => now.identity)]);
  const departed = new Set([...gone.map(({ sight }) => sight.identity), ...replaced.map(({ old }) => old.identity)]);
  return [
    ...passed.flatMap(({ path, isWritten }) => {
      const types = isWritten ? (['CREATE', 'WRITE', 'DELETE'] as const) : (['CREATE', 'DELETE'] as const);
      return types.map((type) => fileEvent(type, sessionPath(path), false));
    }),
    ...gone.map(({ path, sight }) => event(arrived.has(sight.identity) ? 'RENAME' : 'DELETE', path, sight)),
    ...replaced.flatMap(({ path, old }) => (arrived.has(old.identity) ? [event('RENAME', path, old)] : [])),
    ...come.flatMap(({ path, sight }) => {
      const isWritten = sight.size > 0 && !departed.has(sight.identity);
      return [event('CREATE', path, sight), ...(isWritten ? [event('WRITE', path, sight)] : [])];
    }),
    // The path has other content now.
    ...replaced.map(({ path, old, now }) =>
      event(arrived.has(old.identity) || departed.has(now.identity) ? 'CREATE' : 'WRITE', path, now),
    ),
    ...written.map(({ path, sight }) => event('WRITE', path, sight)),
  ];
}

export function fileEvent(type: FileEvent['type'], sessionPath: string, isDirectory: boolean): FileEvent {
  return { type, path: sessionPath, name: path.posix.basename(sessionPath), is_dir: isDirectory };
}
