import { compress } from '@mongodb-js/zstd';
import { Readable } from 'node:stream';
import { inOrder } from './in-order.ts';
import type { Progress } from './progress.ts';
import { sealed } from './seal.ts';
import { tarOf } from './tar-of.ts';

export type PackOptions = {
  /** Aborts packing; the stream fails with an `AbortError`. */
  signal?: AbortSignal | undefined;
  /** Called at most ten times a second, and once at the end. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Skips caches, which Chromium creates again. Default: false. */
  withoutCaches?: boolean | undefined;
  /** `none` makes a plain tar. Default: `zstd`. */
  compression?: 'zstd' | 'none' | undefined;
};

/** Each zstd frame has this much uncompressed content. */
const frameBytes = 2 * 1024 * 1024;
/** Two of the four threads of Node's pool compress. The others read files. */
const framesAtOnce = 2;

/**
 * Packs a user-data directory into a tar with relative, sorted names, compressed with zstd. Skips locks, sockets and crash
 * dumps. The same directory gives the same bytes.
 *
 * The directory may be in use. Skips files that vanish meanwhile. If a file changes, the archive has as many bytes of it
 * as the file had when it was opened. The stream fails with the file system's error if a file can't be read.
 */
export function pack(directory: string, options: PackOptions = {}): Readable {
  const { signal, compression = 'zstd', ...tarOptions } = options;
  const pieces = inPieces(tarOf(directory, tarOptions), frameBytes);
  const bytes =
    compression === 'none' ? pieces : sealed(inOrder(pieces, { limit: framesAtOnce }, (piece) => compress(piece)));
  return Readable.from(bytes, { objectMode: false, signal });
}

/** Joins chunks to pieces of the same size. Only the last one may be smaller. */
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
