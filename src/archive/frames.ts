import type { ByteReader } from './byte-reader.ts';
import { ArchiveError } from './errors.ts';

/** The header of a zstd frame (RFC 8878). */
export type FrameHeader = {
  windowBytes: number;
  /** Length of the content; `undefined` if the header doesn't have it. */
  contentBytes: bigint | undefined;
  hasChecksum: boolean;
};

/**
 * A piece of a zstd file. The pieces in their order make up the whole file.
 *
 * - `skippable`: a skippable frame, or a part of a large one
 * - `frame`: a whole frame with header and checksum. Its content has at most `contentLimit` bytes
 * - `part`: a part of a frame that is too large to be decompressed at once: first the header, then each block, then the
 *   checksum
 */
export type FramePiece =
  | { kind: 'skippable'; bytes: Buffer }
  | { kind: 'frame'; bytes: Buffer; contentLimit: number }
  | { kind: 'part'; bytes: Buffer; header?: FrameHeader; checksum?: Buffer };

/** Returns the largest content of a frame, in bytes, that may be decompressed at once. `taken`: compressed bytes so far. */
type MostAtOnce = (header: FrameHeader, taken: number) => number;

/** The window of `zstd --long=27`, the largest that zstd accepts by default. */
const widestWindowBytes = 128 * 1024 * 1024;
const longestBlockBytes = 128 * 1024;
const magicNumber = 0xfd2fb528;

/** Whether a file begins like a zstd file. */
export function isZstd(start: Buffer): boolean {
  return start.length >= 4 && (start.readUInt32LE() === magicNumber || isSkippable(start));
}

/**
 * Splits a zstd file into pieces without decompressing it, by the sizes in its headers. Yields a frame as a whole if its
 * content is at most `mostAtOnce`, else in parts. Throws an `ArchiveError` if the file has other data than zstd frames.
 */
export async function* framePieces(reader: ByteReader, mostAtOnce: MostAtOnce): AsyncGenerator<FramePiece, void> {
  for (let start = await reader.peek(4); start.length > 0; start = await reader.peek(4)) {
    if (isSkippable(start)) yield* skippableFrame(reader);
    else if (isZstd(start)) yield* frame(reader, mostAtOnce);
    else if (start.length < 4)
      throw new ArchiveError('truncated', 'the archive is incomplete: it ends in the first bytes of a zstd frame');
    else
      throw new ArchiveError('trailing_bytes', `the archive has ${reader.position} bytes of zstd, and then other data`);
  }
}

async function* skippableFrame(reader: ByteReader): AsyncGenerator<FramePiece, void> {
  const header = await reader.take(8);
  let left = header.readUInt32LE(4);
  let start = header;
  do {
    const bytes = await reader.take(Math.min(left, longestBlockBytes));
    yield { kind: 'skippable', bytes: Buffer.concat([start, bytes]) };
    left -= bytes.length;
    start = Buffer.alloc(0);
  } while (left > 0);
}

async function* frame(reader: ByteReader, mostAtOnce: MostAtOnce): AsyncGenerator<FramePiece, void> {
  const { header, bytes } = await takeFrameHeader(reader);
  const start = reader.position;
  const waiting = [bytes];
  let contentLimit = 0;
  let isInParts = false;
  for (let isLast = false; !isLast;) {
    const block = await takeBlock(reader, Math.min(header.windowBytes, longestBlockBytes));
    ({ isLast } = block);
    if (isInParts) {
      yield { kind: 'part', bytes: Buffer.concat(block.parts) };
      continue;
    }
    waiting.push(...block.parts);
    contentLimit += block.contentLimit;
    if (contentLimit <= mostAtOnce(header, reader.position - start)) continue;
    isInParts = true;
    yield { kind: 'part', bytes, header };
    for (const bytes of waiting.splice(1)) yield { kind: 'part', bytes };
  }
  const checksum = await reader.take(header.hasChecksum ? 4 : 0);
  if (isInParts) yield { kind: 'part', bytes: checksum, checksum };
  else yield { kind: 'frame', bytes: Buffer.concat([...waiting, checksum]), contentLimit };
}

async function takeFrameHeader(reader: ByteReader): Promise<{ header: FrameHeader; bytes: Buffer }> {
  const descriptor = (await reader.peek(5))[4] ?? 0;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  if ((descriptor & 0x08) !== 0)
    throw new ArchiveError(
      'unsupported',
      'the archive has a zstd frame of an unknown format: compress it with zstd 1.x',
    );
  if ((descriptor & 0x03) !== 0)
    throw new ArchiveError('unsupported', 'the archive was compressed with a dictionary: compress it without one');
  const contentSizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6]!;
  const bytes = await reader.take((isSingleSegment ? 5 : 6) + contentSizeBytes);
  const contentBytes = contentSizeBytes === 0 ? undefined : readContentSize(bytes.subarray(-contentSizeBytes));
  const windowBytes = isSingleSegment ? Number(contentBytes) : readWindowSize(bytes[5]!);
  if (windowBytes > widestWindowBytes) {
    const problem = `the archive needs a zstd window of ${Math.ceil(windowBytes / 1024 ** 2)} MiB, and the limit is 128 MiB`;
    throw new ArchiveError('unsupported', `${problem}: compress it with --long=27 or less`);
  }
  return { header: { windowBytes, contentBytes, hasChecksum: (descriptor & 0x04) !== 0 }, bytes };
}

function readContentSize(bytes: Buffer): bigint {
  if (bytes.length === 8) return bytes.readBigUInt64LE();
  return BigInt(bytes.readUIntLE(0, bytes.length) + (bytes.length === 2 ? 256 : 0));
}

function readWindowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

/** Takes a block with its header. Its decompressed content has at most `contentLimit` bytes. */
async function takeBlock(
  reader: ByteReader,
  longest: number,
): Promise<{ parts: Buffer[]; isLast: boolean; contentLimit: number }> {
  const start = await reader.peek(3);
  const header = start.length < 3 ? 0 : start.readUIntLE(0, 3);
  const size = header >> 3;
  const type = (['raw', 'rle', 'compressed', 'reserved'] as const)[(header >> 1) & 3]!;
  if (type === 'reserved' || size > longest)
    throw new ArchiveError('corrupt', `the archive is damaged: no zstd block starts after ${reader.position} bytes`);
  const parts = await reader.takeParts(3 + (type === 'rle' ? 1 : size));
  return { parts, isLast: (header & 1) !== 0, contentLimit: type === 'compressed' ? longest : size };
}

function isSkippable(start: Buffer): boolean {
  return start.length >= 4 && start.readUInt32LE() >>> 4 === 0x184d2a5;
}
