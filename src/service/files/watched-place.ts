import { lstat, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { identityOf } from './file-changes.ts';
import { atEntry } from './file-errors.ts';
import { normalPath } from './files.ts';

/** The directory or file to which a watched path leads. */
export type WatchedPlace = {
  /** The path in events. */
  sessionPath: string;
  /** The session path of the directory, without links. Empty for the root. */
  base: string;
  /** The name of the watched file, unless a directory is watched. */
  only: string | undefined;
  /** The identity of the directory, which stays the same if it is renamed. */
  identity: string;
};

/** Finds the directory or file to which a path leads, and its identity. Throws `not_found` and `forbidden`. */
export async function locate(root: string, sessionPath: string): Promise<WatchedPlace> {
  return await atEntry(root, sessionPath, { followLink: true, missing: 'path' }, async (entry, directory) => {
    const isDirectory = (await lstat(entry)).isDirectory();
    const host = await realpath(isDirectory ? entry : directory);
    return {
      sessionPath: normalPath(sessionPath),
      base: host.slice((await realpath(root)).length).replaceAll(path.sep, '/'),
      only: isDirectory ? undefined : path.basename(entry),
      identity: identityOf(await stat(host)),
    };
  });
}
