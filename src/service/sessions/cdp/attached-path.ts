import { closeSync, constants, fstatSync, openSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** A stand-in file begins with this text. The rest of it is the path of the file to upload, as callers see it. */
export const standInStart = 'playwright-pool has this file in the session: ';

/** A directory stands in for another one if it has a single file, with this name. */
export const directoryStandIn = '.playwright-pool-directory';

const longestStandIn = 8 * 1024;

/**
 * Finds the file or directory to upload if `hostPath` is a stand-in. Returns its path as callers see it, or `undefined` for
 * an ordinary file or directory. Clients of Playwright's protocol send the content of uploads in messages. A test worker
 * instead writes the upload into the session over HTTP, and sends a stand-in: a small file that names its path.
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

/** The text of a small file. `undefined` for a link, FIFO or large file, which the session's processes may put there. */
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
