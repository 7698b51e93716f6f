import type { BigIntStats, Stats } from 'node:fs';
import path from 'node:path';
import type { FileEvent } from '../../contract/files.ts';

/** What a look at a file or directory showed. */
export type Sight = {
  /** Stays the same as long as it exists, also under another name. */
  identity: string;
  isDirectory: boolean;
  /** In bytes; 0 of what is no regular file. */
  size: number;
  /** When it was written and when it was looked at, in ms since the epoch. */
  written: number;
  seen: number;
};

export type Seen = { path: string; sight: Sight };

/** What two looks at a tree differ in. Of what is gone, what is in a directory comes before it; of what has come, after it. */
export type FileChanges = {
  gone: Seen[];
  come: Seen[];
  written: Seen[];
  replaced: { path: string; old: Sight; now: Sight }[];
  /** What has come and gone between the looks. */
  passed: { path: string; isWritten: boolean }[];
};

/** File systems count time in steps of up to 10 ms: a file may be written once more in the step in which it was looked at. */
const timeStepMs = 20;

export function sightOf(stats: Stats): Sight {
  const size = stats.isFile() ? stats.size : 0;
  return { identity: identityOf(stats), isDirectory: stats.isDirectory(), size, written: stats.mtimeMs, seen: Date.now() };
}

export function identityOf(stats: Stats | BigIntStats): string {
  // The number alone is given to another file as soon as this one is deleted.
  return [stats.dev, stats.ino, stats.birthtimeMs, stats.isDirectory()].join(':');
}

/** Whether a file of which the system says that something happened was written since the look `before`. */
export function wasWritten(before: Sight, now: Sight): boolean {
  return before.written !== now.written || before.size !== now.size || Math.abs(before.seen - before.written) < timeStepMs;
}

/** What has gone and come again elsewhere was renamed; what is new and has a content was created and written. `sessionPath` is that of a path in the tree. */
export function fileEvents({ gone, come, written, replaced, passed }: FileChanges, sessionPath: (inTree: string) => string): FileEvent[] {
  const event = (type: FileEvent['type'], inTree: string, { isDirectory }: Sight) => fileEvent(type, sessionPath(inTree), isDirectory);
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
    // A file that another one has replaced in its place has a new content.
    ...replaced.map(({ path, old, now }) => event(arrived.has(old.identity) || departed.has(now.identity) ? 'CREATE' : 'WRITE', path, now)),
    ...written.map(({ path, sight }) => event('WRITE', path, sight)),
  ];
}

export function fileEvent(type: FileEvent['type'], sessionPath: string, isDirectory: boolean): FileEvent {
  return { type, path: sessionPath, name: path.posix.basename(sessionPath), is_dir: isDirectory };
}
