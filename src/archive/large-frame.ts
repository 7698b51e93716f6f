import { Decompress } from 'fzstd';
import { ArchiveError } from './errors.ts';
import type { FrameHeader } from './frames.ts';
import { Xxh64 } from './xxh64.ts';

/**
 * Decompresses one frame block by block. fzstd checks neither the length nor the checksum that a frame may name, so that happens here;
 * in a frame that names none of them, fzstd does not notice every damage.
 */
export class LargeFrame {
  readonly #header: FrameHeader;
  readonly #decompress = new Decompress((chunk) => this.#chunks.push(chunk));
  readonly #hash = new Xxh64();
  #chunks: Uint8Array[] = [];
  #length = 0;
  #heldBack = Buffer.alloc(0);

  constructor(header: FrameHeader) {
    this.#header = header;
  }

  /** Takes the frame's header, then each block, and gives what it has of its content. */
  add(bytes: Buffer): Uint8Array[] {
    // fzstd never lets go of input that ends where a block ends, so that the last byte waits for what comes next.
    const all = Buffer.concat([this.#heldBack, bytes]);
    this.#heldBack = all.subarray(-1);
    return this.#push(all.subarray(0, -1));
  }

  /** Takes the frame's checksum, or nothing where it has none, and gives the rest of its content. */
  end(checksum: Buffer): Uint8Array[] {
    const rest = this.#push(this.#heldBack);
    const { contentBytes, hasChecksum } = this.#header;
    const isWhole = contentBytes === undefined || contentBytes === BigInt(this.#length);
    const isRight = !hasChecksum || checksum.readUInt32LE() === this.#hash.digest32();
    if (!isWhole || !isRight)
      throw new ArchiveError('corrupt', 'the archive is damaged: a frame has not the length or checksum that it names');
    return rest;
  }

  #push(bytes: Buffer): Uint8Array[] {
    this.#chunks = [];
    try {
      this.#decompress.push(bytes);
    } catch (error) {
      throw new ArchiveError('corrupt', `the archive is damaged: ${error instanceof Error ? error.message : String(error)}`);
    }
    for (const chunk of this.#chunks) {
      this.#length += chunk.length;
      if (this.#header.hasChecksum) this.#hash.update(chunk);
    }
    return this.#chunks;
  }
}
