import { closeSync, constants, fstatSync, openSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** The beginning of a stand-in's content. The rest is the session path of the file that the file input gets. */
export const standInStart = 'playwright-pool has this file in the session: ';

/** The name of the only file in a directory that is a stand-in for another directory. */
export const directoryStandIn = '.playwright-pool-directory';

const longestStandIn = 8 * 1024;

/**
 * Returns the session path that a stand-in names, or `undefined` for an ordinary file or directory. A client of
 * Playwright's protocol would send the content of files in messages. A worker writes the files over HTTP instead, and
 * sends a small stand-in for each file or directory.
 */
export function attachedPath(hostPath: string): string | undefined {
  const text = readSmall(hostPath) ?? readSmall(onlyFile(hostPath));
  return text?.startsWith(standInStart) ? text.slice(standInStart.length) : undefined;
}

function onlyFile(directory: string): string | undefined {
  try {
    const names = readdirSync(directory);
    return names.length === 1 && names[0] === directoryStandIn ? path.join(directory, directoryStandIn) : undefined;
  } catch {
    return undefined;
  }
}

/** `undefined` for everything but a small file: the session's processes may replace it by a link or a FIFO. */
function readSmall(file: string | undefined): string | undefined {
  let descriptor: number | undefined;
  try {
    if (file === undefined) return undefined;
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    const stats = fstatSync(descriptor);
    return stats.isFile() && stats.size <= longestStandIn ? readFileSync(descriptor, 'utf8') : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
