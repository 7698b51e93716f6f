import { randomUUID } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { OperationError } from '../../contract/errors.ts';

const uploadPrefix = '.playwright-pool-upload-';

/** A temporary name for a file or directory that is not complete yet. */
export function uploadName(): string {
  return uploadPrefix + randomUUID();
}

/** Whether a name is temporary, so that lists and events must hide it. */
export function isUpload(name: string): boolean {
  return name.startsWith(uploadPrefix);
}

/**
 * Writes a stream to a new file. `finish` may set attributes of the file before it is closed. After an error the rest
 * of the stream stays unread, so that the answer can still be sent, and the caller must remove the file.
 */
export async function receive(
  stream: Readable,
  newFile: string,
  signal: AbortSignal,
  finish: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(
    newFile,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    await copy(stream, file, signal);
    await finish(file);
  } finally {
    await file.close();
  }
}

async function copy(stream: Readable, file: FileHandle, signal: AbortSignal): Promise<void> {
  // It may fail after the copy has ended, and an error that nobody handles would end the service.
  stream.on('error', () => {});
  // Collects the chunks that arrive during a write for the next one.
  const writing = createWriteStream('', { fd: file.fd, autoClose: false, highWaterMark: 1024 * 1024 });
  try {
    signal.throwIfAborted();
    // On a full disk, `pipeline` would destroy the stream and the connection.
    stream.pipe(writing);
    await Promise.all([finished(stream, { writable: false, signal }), finished(writing)]);
    signal.throwIfAborted();
  } catch (error) {
    if (error instanceof OperationError || error === writing.errored) throw error;
    if (signal.reason instanceof OperationError) throw signal.reason;
    throw new OperationError('bad_request', 'the upload ended before it was complete: send it again', { cause: error });
  } finally {
    stream.unpipe(writing);
    // The caller closes the file, so no write may be running.
    await finished(writing.end()).catch(() => {});
  }
}
