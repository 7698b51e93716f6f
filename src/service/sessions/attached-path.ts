import { closeSync, constants, fstatSync, openSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** The beginning of a stand-in. The rest is the session path of the file that the file input gets. */
export const standInStart = 'playwright-pool has this file in the session: ';

/** The name of the only file in a directory that stands for another one. */
export const directoryStandIn = '.playwright-pool-directory';

const longestStandIn = 8 * 1024;

/**
 * Returns the session path for which a file or directory stands; `undefined` if it is an ordinary one. Clients of Playwright's protocol
 * send files as messages. A worker writes them over HTTP instead, and sends a stand-in.
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
