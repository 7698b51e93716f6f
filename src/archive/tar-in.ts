import { decompress } from '@mongodb-js/zstd';
import { setImmediate } from 'node:timers/promises';
import type { ByteReader } from './byte-reader.ts';
import { ArchiveError } from './errors.ts';
import { framePieces, isZstd, type FrameHeader, type FramePiece } from './frames.ts';
import { inOrder } from './in-order.ts';
import { LargeFrame } from './large-frame.ts';
import { SealCheck } from './seal.ts';

const mebibyte = 1024 * 1024;
/** The most content of the frames that are decompressed at the same time, in bytes. */
const contentAtOnce = 6 * mebibyte;
/** Each piece counts as at least this many bytes. Even an empty one takes memory, and a small archive can have millions. */
const leastWeight = 64 * 1024;
/** After this many pieces of a large frame, let the event loop run: fzstd blocks it for some milliseconds. */
const piecesPerTurn = 8;

/**
 * Yields the tar in an archive: decompresses a zstd file, and takes any other file as a plain tar. Throws an `ArchiveError`
 * for damaged zstd.
 */
export async function* tarIn(reader: ByteReader): AsyncGenerator<Uint8Array, void> {
  if (!isZstd(await reader.peek(4))) {
    for (let chunk = await reader.takeSome(); chunk !== undefined; chunk = await reader.takeSome()) yield chunk;
    return;
  }
  const pieces = checkSeal(framePieces(reader, mostAtOnce));
  let largeFrame: LargeFrame | undefined;
  let count = 0;
  for await (const piece of inOrder(pieces, { limit: contentAtOnce, weight }, decompressFrame)) {
    if (Buffer.isBuffer(piece)) {
      yield piece;
    } else if (piece.kind === 'part') {
      if (piece.header) largeFrame = await LargeFrame.of(piece.header);
      yield* piece.checksum ? largeFrame!.end(piece.checksum) : largeFrame!.add(piece.bytes);
      count += 1;
      if (count % piecesPerTurn === 0) await setImmediate();
    }
  }
}

/**
 * The largest content of a frame, in bytes, that the zstd library decompresses at once. The package fzstd decompresses
 * larger frames block by block. It moves its whole window with each block: with a window of 128 MiB that takes a minute for
 * 300 MB. So frames with a large window (`zstd --long` or `--ultra`) may take more memory, unless they are suspiciously
 * small.
 */
function mostAtOnce({ windowBytes }: FrameHeader, taken: number): number {
  const most = windowBytes > 16 * mebibyte ? 512 * mebibyte : 32 * mebibyte;
  return Math.min(most, Math.max(64 * mebibyte, taken * 200));
}

async function* checkSeal(pieces: AsyncIterable<FramePiece>): AsyncGenerator<FramePiece, void> {
  const seal = new SealCheck();
  for await (const piece of pieces) {
    seal.add(piece.bytes);
    yield piece;
  }
  seal.end();
}

function weight(piece: FramePiece): number {
  return Math.max(leastWeight, piece.kind === 'frame' ? piece.contentLimit : piece.bytes.length);
}

async function decompressFrame(piece: FramePiece): Promise<Buffer | FramePiece> {
  if (piece.kind !== 'frame') return piece;
  try {
    return await decompress(piece.bytes);
  } catch (error) {
    throw new ArchiveError(
      'corrupt',
      `the archive is damaged: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
