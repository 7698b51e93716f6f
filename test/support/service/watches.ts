import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { OperationError } from '../../../src/contract/errors.ts';
import type { FileEvent } from '../../../src/contract/files.ts';
import type { Watch } from '../../../src/service/files/watch.ts';
import { Watches } from '../../../src/service/files/watches.ts';
import { Lease } from '../../../src/service/sessions/lease.ts';
import { test as base } from './session-files.ts';

/** The events that a reader of a watch received. */
type Reader = { events: FileEvent[]; ended: Promise<unknown>; leave(): void };

type Fixtures = {
  /** How many files and directories the watches may follow. */
  mostEntries: number;
  /** Watches a path of `place.root` as if it were a session that ends with the test. */
  watch: (sessionPath: string, options?: { recursive?: boolean }) => Promise<Watch>;
  /** Starts to read a watch. */
  read: (watch: Watch) => Reader;
};

export const test = base.extend<Fixtures>({
  mostEntries: [100_000, { option: true }],
  watch: async ({ place, mostEntries }, use) => {
    const session = { id: 'session', root: place.root, lease: new Lease('session') };
    const watches = new Watches(mostEntries);
    await use(async (path, { recursive = false } = {}) =>
      watches.get(session, await watches.start(session, { path, recursive })),
    );
    session.lease.end(new OperationError('conflict', 'the lease has ended'));
  },
  read: async ({}, use) => {
    const readers: Reader[] = [];
    await use((watch) => {
      const reader = readerOf(watch);
      readers.push(reader);
      return reader;
    });
    for (const reader of readers) reader.leave();
  },
});

/** `CREATE /a, DELETE /b/`. A slash marks a directory. */
export function told(events: FileEvent[]): string[] {
  return events.map(({ type, path, is_dir }) => `${type} ${path}${is_dir ? '/' : ''}`);
}

/** A tree by paths: the content of files, `undefined` for directories. Links count as files. */
type Tree = Map<string, string | undefined>;

/** The tree below a directory of the host. Paths begin with `prefix`. */
export function treeOf(directory: string, prefix: string): Tree {
  const found = readdirSync(directory, { recursive: true, withFileTypes: true }).map(
    (entry): [string, string | undefined] => {
      const hostPath = path.join(entry.parentPath, entry.name);
      const content = entry.isDirectory()
        ? undefined
        : lstatSync(hostPath).isFile()
          ? readFileSync(hostPath, 'utf8')
          : 'link';
      return [prefix + hostPath.slice(directory.length), content];
    },
  );
  return new Map(found);
}

/** Applies events to the tree from before them. Reads each created or written file, like a reader with enough time. */
export function applied(tree: Tree, events: FileEvent[], now: Tree): Tree {
  const result = new Map(tree);
  for (const { type, path, is_dir } of events) {
    if (type === 'DELETE' || type === 'RENAME') {
      // `expect` would be too slow for many thousands.
      if (!result.has(path)) throw new Error(`${type} of ${path}, which was not there`);
      if ((result.get(path) === undefined) !== is_dir) throw new Error(`${type} of ${path} says is_dir ${is_dir}`);
      result.delete(path);
    } else {
      result.set(path, is_dir ? undefined : (now.get(path) ?? 'gone'));
    }
  }
  return result;
}

export function lines(tree: Tree): string[] {
  return Array.from(tree, ([at, content]) => `${at} ${content}`).toSorted();
}

function readerOf(watch: Watch): Reader {
  const events: FileEvent[] = [];
  const leaving = new AbortController();
  const read = async () => {
    for await (const event of watch.events(leaving.signal)) events.push(event);
  };
  const ended = read();
  ended.catch(() => {});
  return { events, ended, leave: () => leaving.abort() };
}
