import { createHash, type Hash } from 'node:crypto';
import { ArchiveError } from './errors.ts';

// zstd's own checksums are optional, and the library writes none. Therefore an archive of ours is sealed:
//
//   an empty zstd frame | skippable frame: mark | zstd frames ... | skippable frame: seal with SHA-256 of all bytes before it
//
// The mark says that a seal must follow, so that one cut off is missed. The empty frame comes first because programs know
// a zstd file by the magic number of an ordinary frame. Any zstd reads the whole and skips what is skippable.

const emptyFrame = Buffer.from('28b52ffd2000010000', 'hex');
const markFrame = skippableFrame(Buffer.from('playwright-pool archive 1: a SHA-256 seal follows'));
/** What all seals have before the digest. */
const sealStart = sealFrame(Buffer.alloc(32)).subarray(0, -32);

/** Passes on the bytes of a zstd archive, sealed. */
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

/** Checks the seal of an archive that is given frame by frame, or in smaller parts where a frame is large. Foreign archives have none. */
export class SealCheck {
  #hash: Hash | undefined = createHash('sha256');
  #state: 'start' | 'empty frame' | 'marked' | 'sealed' | 'foreign' = 'start';

  /** Takes the next frame, with its headers. Throws `corrupt` for a seal that doesn't fit and `trailing_bytes` for what comes after it. */
  add(frame: Buffer): void {
    if (this.#state === 'sealed') throw new ArchiveError('trailing_bytes', 'the archive goes on after its seal');
    if (isSeal(frame)) {
      if (this.#state !== 'marked') throw new ArchiveError('corrupt', 'the archive has a seal but not the mark that announces it');
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
    if (this.#state === 'marked') throw new ArchiveError('truncated', 'the archive ends without its seal: it was cut off');
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
