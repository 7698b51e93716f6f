import { lstat, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { withEntry } from '../sessions/confined-path.ts';
import { identityOf } from './file-changes.ts';
import { fileError } from './file-errors.ts';
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
  const use = { followLink: true, missing: 'path' };
  try {
    return await withEntry(root, sessionPath, use, async (entry, directory) => {
      const isDirectory = (await lstat(entry)).isDirectory();
      const host = await realpath(isDirectory ? entry : directory);
      return {
        sessionPath: normalPath(sessionPath),
        base: host.slice((await realpath(root)).length).replaceAll(path.sep, '/'),
        only: isDirectory ? undefined : path.basename(entry),
        identity: identityOf(await stat(host)),
      };
    });
  } catch (error) {
    throw fileError(error, sessionPath, use);
  }
}
