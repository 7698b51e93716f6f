import type { ByteReader } from './byte-reader.ts';
import { ArchiveError } from './errors.ts';
import { tarIn } from './tar-in.ts';

/** What an archive may extract to. They keep a small archive from filling disk or memory. */
export type ExtractLimits = {
  /** Files, directories and links together. Default: 200,000. */
  entries?: number | undefined;
  /** Bytes of the tar, which are those of all files and of their headers. Default: 4 GiB. */
  bytes?: number | undefined;
  /** Bytes of the tar for each byte of the archive, looked at when the tar is larger than 32 MiB. Default: 200. */
  ratio?: number | undefined;
};

/** A tar up to this size is not looked at for its ratio. */
const smallBytes = 32 * 1024 ** 2;

/** Holds an archive against its limits while it is read, entry by entry. */
export class Limits {
  readonly #entries: number;
  readonly #bytes: number;
  readonly #ratio: number;
  #entry: string | undefined;
  #entryCount = 0;
  #contentBytes = 0;

  constructor({ entries = 200_000, bytes = 4 * 1024 ** 3, ratio = 200 }: ExtractLimits = {}) {
    this.#entries = entries;
    this.#bytes = bytes;
    this.#ratio = ratio;
  }

  /** Counts an entry, or a directory that it needs, with the size that it claims. Throws `too_many_entries` or `too_large`. */
  count(entry: string, bytes: number): void {
    this.#entry = entry;
    this.#entryCount += 1;
    this.#contentBytes += bytes;
    if (this.#entryCount > this.#entries) {
      throw new ArchiveError('too_many_entries', `is one more than the ${this.#entries} that an archive may have (limits.entries)`, entry);
    }
    if (this.#contentBytes > this.#bytes) throw this.#tooLarge(this.#bytesLimit);
  }

  /** The tar in an archive, as far as it is within the limits. Throws `too_large` where it goes on. */
  async *tarIn(reader: ByteReader): AsyncGenerator<Uint8Array, void> {
    let given = 0;
    for await (const chunk of tarIn(reader)) {
      const mostByRatio = Math.max(smallBytes, this.#ratio * reader.bytesRead);
      const left = Math.min(this.#bytes, mostByRatio) - given;
      // What is within the limits is still read, to say at which entry they end.
      yield chunk.subarray(0, left);
      if (chunk.length > left)
        throw this.#tooLarge(mostByRatio < this.#bytes ? `${this.#ratio} times its size (limits.ratio)` : this.#bytesLimit);
      given += chunk.length;
    }
  }

  get #bytesLimit(): string {
    return `${this.#bytes} bytes (limits.bytes)`;
  }

  #tooLarge(limit: string): ArchiveError {
    return new ArchiveError(
      'too_large',
      `${this.#entry === undefined ? '' : 'is where '}the archive extracts to more than ${limit}`,
      this.#entry,
    );
  }
}
