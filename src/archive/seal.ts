import { createHash, type Hash } from 'node:crypto';
import { ArchiveError } from './errors.ts';

// zstd's own checksums are optional, and the library writes none. Therefore an archive of ours is sealed:
//
// an empty zstd frame | skippable frame: mark | zstd frames ... | skippable frame: seal with SHA-256 of all bytes
// before it
//
// The mark says that a seal must follow, so a cut-off seal is noticed. The empty frame comes first because programs
// recognize a zstd file by the magic number of an ordinary frame. Every zstd can read the whole and skips the skippable
// frames.

const emptyFrame = Buffer.from('28b52ffd2000010000', 'hex');
const markFrame = skippableFrame(Buffer.from('playwright-pool archive 1: a SHA-256 seal follows'));
/** The bytes before the digest, the same in all seals. */
const sealStart = sealFrame(Buffer.alloc(32)).subarray(0, -32);

/** Adds mark and seal to a zstd archive. */
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

/** Checks the seal of an archive frame by frame; large frames come in parts. Foreign archives have no seal. */
export class SealCheck {
  #hash: Hash | undefined = createHash('sha256');
  #state: 'start' | 'empty frame' | 'marked' | 'sealed' | 'foreign' = 'start';

  /**
   * Adds the next frame with its header. Throws `corrupt` for a wrong seal and `trailing_bytes` for data after the
   * seal.
   */
  add(frame: Buffer): void {
    if (this.#state === 'sealed')
      throw new ArchiveError('trailing_bytes', 'the archive has other bytes after its seal');
    if (isSeal(frame)) {
      if (this.#state !== 'marked')
        throw new ArchiveError('corrupt', 'the archive is damaged: it has a seal, but no mark before its content');
      if (!this.#hash!.digest().equals(frame.subarray(-32)))
        throw new ArchiveError('corrupt', 'the archive was changed: its seal is broken');
      this.#state = 'sealed';
      return;
    }
    if (this.#state === 'start') this.#state = frame.equals(emptyFrame) ? 'empty frame' : 'foreign';
    else if (this.#state === 'empty frame') this.#state = frame.equals(markFrame) ? 'marked' : 'foreign';
    if (this.#state === 'foreign') this.#hash = undefined;
    this.#hash?.update(frame);
  }

  end(): void {
    if (this.#state === 'marked')
      throw new ArchiveError('truncated', 'the archive ends without its seal: it was cut off');
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
