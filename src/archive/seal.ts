import { createHash, type Hash } from 'node:crypto';
import { ArchiveError } from './errors.ts';

// The archives that `pack` writes end with a seal, a SHA-256 of all bytes before it, so that `extract` notices damage.
// (zstd has optional checksums of its own, but the library doesn't write them.) The parts of an archive:
//
// empty zstd frame | mark | zstd frames with the tar ... | seal
//
// Mark and seal are skippable frames, which every zstd program ignores. The mark says that a seal must follow, so that an
// archive whose end is missing is noticed. The empty frame comes first, because programs recognize a zstd file by it.

const emptyFrame = Buffer.from('28b52ffd2000010000', 'hex');
const markFrame = skippableFrame(Buffer.from('playwright-pool archive 1: a SHA-256 seal follows'));
/** The bytes before the digest, the same in all seals. */
const sealStart = sealFrame(Buffer.alloc(32)).subarray(0, -32);

/** Adds the empty frame, the mark and the seal to the zstd frames of an archive. */
export async function* sealed(frames: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const hash = createHash('sha256');
  const start = Buffer.concat([emptyFrame, markFrame]);
  hash.update(start);
  yield start;
  for await (const frame of frames) {
    hash.update(frame);
    yield frame;
  }
  yield sealFrame(hash.digest());
}

/** Checks the seal of an archive while its frames are read. Archives of other programs have no seal and always pass. */
export class SealCheck {
  #hash: Hash | undefined = createHash('sha256');
  #state: 'start' | 'empty frame' | 'marked' | 'sealed' | 'foreign' = 'start';

  /**
   * Adds the next frame, or a part of a large one. Throws `corrupt` for a wrong seal, and `trailing_bytes` for data after
   * the seal.
   */
  add(frame: Buffer): void {
    if (this.#state === 'sealed')
      throw new ArchiveError('trailing_bytes', 'the archive has other data after the seal at its end');
    if (isSeal(frame)) {
      if (this.#state !== 'marked')
        throw new ArchiveError('corrupt', 'the archive is damaged: its beginning is missing or changed');
      if (!this.#hash!.digest().equals(frame.subarray(-32)))
        throw new ArchiveError(
          'corrupt',
          'the archive is damaged or was changed: its SHA-256 seal does not fit its content',
        );
      this.#state = 'sealed';
      return;
    }
    if (this.#state === 'start') this.#state = frame.equals(emptyFrame) ? 'empty frame' : 'foreign';
    else if (this.#state === 'empty frame') this.#state = frame.equals(markFrame) ? 'marked' : 'foreign';
    if (this.#state === 'foreign') this.#hash = undefined;
    this.#hash?.update(frame);
  }

  /** Call at the end of the archive. Throws `truncated` if the seal is missing. */
  end(): void {
    if (this.#state === 'marked')
      throw new ArchiveError('truncated', 'the archive is incomplete: the SHA-256 seal at its end is missing');
  }
}

function isSeal(frame: Buffer): boolean {
  return frame.length === sealStart.length + 32 && frame.subarray(0, -32).equals(sealStart);
}

function sealFrame(digest: Buffer): Buffer {
  return skippableFrame(Buffer.concat([Buffer.from('playwright-pool seal: '), digest]));
}

function skippableFrame(content: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(0x184d2a50);
  header.writeUInt32LE(content.length, 4);
  return Buffer.concat([header, content]);
}
