import { Decompress } from 'fzstd';
import xxhash, { type XXHash } from 'xxhash-wasm';
import { ArchiveError } from './errors.ts';
import type { FrameHeader } from './frames.ts';

/** Decompresses one large zstd frame block by block. Checks its length and checksum, because the package fzstd doesn't. */
export class LargeFrame {
  readonly #header: FrameHeader;
  readonly #decompress = new Decompress((chunk) => this.#chunks.push(chunk));
  readonly #hash: XXHash<bigint>;
  #chunks: Uint8Array[] = [];
  #length = 0;
  #heldBack = Buffer.alloc(0);

  private constructor(header: FrameHeader, hash: XXHash<bigint>) {
    this.#header = header;
    this.#hash = hash;
  }

  static async of(header: FrameHeader): Promise<LargeFrame> {
    const api = await xxhash();
    return new LargeFrame(header, api.create64());
  }

  /** Takes the frame's header, then each block, and returns the content decompressed so far. */
  add(bytes: Buffer): Uint8Array[] {
    // If the input ends exactly with a block, fzstd keeps this block for the next call. So hold back the last byte, and
    // fzstd returns all blocks before it.
    const all = Buffer.concat([this.#heldBack, bytes]);
    this.#heldBack = all.subarray(-1);
    return this.#push(all.subarray(0, -1));
  }

  /** Takes the frame's checksum, which may be empty, and returns the rest of the content. */
  end(checksum: Buffer): Uint8Array[] {
    const rest = this.#push(this.#heldBack);
    const { contentBytes, hasChecksum } = this.#header;
    const isWhole = contentBytes === undefined || contentBytes === BigInt(this.#length);
    const isRight = !hasChecksum || BigInt(checksum.readUInt32LE()) === BigInt.asUintN(32, this.#hash.digest());
    if (!isWhole || !isRight)
      throw new ArchiveError('corrupt', 'the archive is damaged: the length or checksum of a zstd frame is wrong');
    return rest;
  }

  #push(bytes: Buffer): Uint8Array[] {
    this.#chunks = [];
    try {
      this.#decompress.push(bytes);
    } catch (error) {
      throw new ArchiveError(
        'corrupt',
        `the archive is damaged: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    for (const chunk of this.#chunks) {
      this.#length += chunk.length;
      if (this.#header.hasChecksum) this.#hash.update(chunk);
    }
    return this.#chunks;
  }
}
