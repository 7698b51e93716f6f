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

  constructor(header: FrameHeader) {
    this.#header = header;
  }

  /** Takes the frame's header, then each block, and gives its content. */
  add(bytes: Buffer): Uint8Array[] {
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

  /** Takes the frame's checksum, or nothing where it has none. */
  end(checksum: Buffer): void {
    const { contentBytes, hasChecksum } = this.#header;
    const isWhole = contentBytes === undefined || contentBytes === BigInt(this.#length);
    const isRight = !hasChecksum || checksum.readUInt32LE() === this.#hash.digest32();
    if (!isWhole || !isRight)
      throw new ArchiveError('corrupt', 'the archive is damaged: a frame has not the length or checksum that it names');
  }
}
