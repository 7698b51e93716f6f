import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperationError } from '../../contract/errors.ts';
import { withEntry } from '../sessions/confined-path.ts';
import { errorCode } from '../process/system-error.ts';
import { requireFile } from './files.ts';

/** A line of a log. If there is no such log, the only line is the reason. */
export type LogLine = { text: string; /** In ms since the epoch. */ at: number };

export const notAvailable = 'logs source not available';
const notReadable = 'failed to open log path';

/** How often a followed file is read, in ms. The system doesn't report changes on disks of other machines. */
const pollMs = 100;
const partSize = 64 * 1024;
/** In characters. A longer line is sent in parts. */
const longestLine = 64 * 1024;

/**
 * Reads the lines of a file of the session. With `follow`, yields only new lines until the signal aborts, also after
 * the file was emptied. Without it, yields all lines and ends.
 */
export async function tailFile(
  root: string,
  sessionPath: string | undefined,
  how: { follow: boolean; signal: AbortSignal },
): Promise<AsyncIterable<LogLine> | Iterable<LogLine>> {
  const opened = await openLog(root, sessionPath);
  if (typeof opened === 'string') return [{ text: opened, at: Date.now() }];
  const start = how.follow ? (await opened.stat()).size : 0;
  // Also closes the file if nobody ever reads the lines.
  how.signal.addEventListener('abort', () => void opened.close().catch(() => {}), { once: true });
  return linesOf(opened, start, how);
}

/** Returns the open file, or the reason why there is none. */
async function openLog(root: string, sessionPath: string | undefined): Promise<FileHandle | string> {
  if (!sessionPath?.startsWith('/')) return notAvailable;
  try {
    return await withEntry(root, sessionPath, { followLink: true }, async (entry) => {
      const file = await open(entry, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        requireFile(await file.stat(), sessionPath);
        return file;
      } catch (error) {
        await file.close();
        throw error;
      }
    });
  } catch (error) {
    if (errorCode(error) === 'EACCES') return notReadable;
    if (error instanceof OperationError || errorCode(error) !== undefined) return notAvailable;
    throw error;
  }
}

async function* linesOf(
  file: FileHandle,
  start: number,
  { follow, signal }: { follow: boolean; signal: AbortSignal },
): AsyncGenerator<LogLine> {
  const decoder = new TextDecoder();
  const part = Buffer.alloc(partSize);
  let position = start;
  let rest = '';
  try {
    while (!signal.aborted) {
      const { bytesRead } = await file.read(part, 0, partSize, position);
      position += bytesRead;
      const lines = (rest + decoder.decode(part.subarray(0, bytesRead), { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? '';
      if (rest.length > longestLine) {
        lines.push(rest);
        rest = '';
      }
      for (const text of lines) if (text !== '') yield { text, at: Date.now() };
      if (bytesRead > 0) continue;
      if (!follow) break;
      // A file that was emptied is followed from its new end.
      const { size } = await file.stat();
      if (size < position) {
        position = size;
        rest = '';
      }
      await sleep(pollMs, undefined, { signal, ref: false }).catch(() => {});
    }
    if (rest !== '' && !follow) yield { text: rest, at: Date.now() };
  } catch (error) {
    // Closing the file interrupts a read.
    if (!signal.aborted) throw error;
  } finally {
    await file.close().catch(() => {});
  }
}
