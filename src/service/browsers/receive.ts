import { randomUUID } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { OperationError } from '../../contract/errors.ts';

const uploadPrefix = '.playwright-pool-upload-';

/** A name for what is on its way into a session's file system. */
export function uploadName(): string {
  return uploadPrefix + randomUUID();
}

/** Whether a name is that of something on its way, which nobody is shown. */
export function isUpload(name: string): boolean {
  return name.startsWith(uploadPrefix);
}

/**
 * Writes what a stream brings to a new file, which `finish` may give its attributes before it is closed. After an error the rest of the
 * stream is left unread, so that the answer can still be sent, and the file is the caller's to remove.
 */
export async function receive(
  stream: Readable,
  newFile: string,
  signal: AbortSignal,
  finish: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(newFile, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    await copy(stream, file, signal);
    await finish(file);
  } finally {
    await file.close();
  }
}

async function copy(stream: Readable, file: FileHandle, signal: AbortSignal): Promise<void> {
  const abort = () => stream.destroy(new Error('the caller hung up'));
  signal.addEventListener('abort', abort);
  // What arrives while it writes is written at once.
  const writing = createWriteStream('', { fd: file.fd, autoClose: false, highWaterMark: 1024 * 1024 });
  try {
    signal.throwIfAborted();
    // Not pipeline, which destroys the stream, and the connection with it, when the disk is full.
    stream.pipe(writing);
    await Promise.all([finished(stream, { writable: false }), finished(writing)]);
    signal.throwIfAborted();
  } catch (error) {
    if (error instanceof OperationError || error === writing.errored) throw error;
    throw new OperationError('bad_request', 'the upload broke off before its end', { cause: error });
  } finally {
    stream.unpipe(writing);
    // The file is closed next, and no write may be under way then.
    await finished(writing.end()).catch(() => {});
    signal.removeEventListener('abort', abort);
  }
}
