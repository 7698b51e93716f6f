import { compress } from '@mongodb-js/zstd';
import { Readable } from 'node:stream';
import { inOrder } from './in-order.ts';
import type { Progress } from './progress.ts';
import { sealed } from './seal.ts';
import { tarOf } from './tar-of.ts';

export type PackOptions = {
  /** Ends the packing; the stream fails with an `AbortError`. */
  signal?: AbortSignal | undefined;
  /** Called at most ten times a second, and once at the end. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Leaves out what Chromium makes anew when it is missing. Default: false. */
  withoutCaches?: boolean | undefined;
  /** `none` makes a plain tar. Default: `zstd`. */
  compression?: 'zstd' | 'none' | undefined;
};

const frameBytes = 2 * 1024 * 1024;
/** The pool has four threads, and files are read by them too. */
const framesAtOnce = 2;

/**
 * The archive of a user-data directory: a tar with relative, sorted names, compressed with zstd in frames, of which several are at work on
 * the thread pool. Locks, sockets and crash dumps are left out. The same directory gives the same bytes.
 *
 * The directory may be in use. A file that vanishes meanwhile is left out, one that changes is archived in the length that it had when its
 * turn came. The stream fails with the file system's error when something cannot be read.
 */
export function pack(directory: string, options: PackOptions = {}): Readable {
  const { signal, compression = 'zstd', ...tarOptions } = options;
  const pieces = inPieces(tarOf(directory, tarOptions), frameBytes);
  const bytes = compression === 'none' ? pieces : sealed(inOrder(pieces, { limit: framesAtOnce }, (piece) => compress(piece)));
  return Readable.from(bytes, { objectMode: false, signal });
}

/** Gathers chunks to pieces of the same size; only the last may be smaller. */
async function* inPieces(chunks: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer, void> {
  let piece = Buffer.allocUnsafeSlow(size);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length;) {
      const part = chunk.subarray(start, start + size - filled);
      piece.set(part, filled);
      start += part.length;
      filled += part.length;
      if (filled < size) continue;
      yield piece;
      piece = Buffer.allocUnsafeSlow(size);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}
