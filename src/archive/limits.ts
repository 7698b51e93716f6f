import type { ByteReader } from './byte-reader.ts';
import { ArchiveError } from './errors.ts';
import { tarIn } from './tar-in.ts';

/** Limits of an extraction. They keep a small archive from filling disk or memory. */
export type ExtractLimits = {
  /** Files, directories and links together. Default: 200,000. */
  entries?: number | undefined;
  /** Bytes of the tar: all files and their headers. Default: 4 GiB. */
  bytes?: number | undefined;
  /** Bytes of the tar for each byte of the archive, checked if the tar is larger than 32 MiB. Default: 200. */
  ratio?: number | undefined;
};

/** The limit `ratio` isn't checked for tars up to this size, in bytes. */
const smallBytes = 32 * 1024 ** 2;

/** Counts entries and bytes while an archive is read, and throws if they exceed the limits. */
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

  /** Counts an entry, or a parent directory, with the size in its header. Throws `too_many_entries` or `too_large`. */
  count(entry: string, bytes: number): void {
    this.#entry = entry;
    this.#entryCount += 1;
    this.#contentBytes += bytes;
    if (this.#entryCount > this.#entries) {
      throw new ArchiveError(
        'too_many_entries',
        `exceeds the limit of ${this.#entries} entries: raise limits.entries if you trust the archive`,
        entry,
      );
    }
    if (this.#contentBytes > this.#bytes) throw this.#tooLarge(this.#bytesLimit);
  }

  /** Yields the tar in an archive up to the limits, then throws `too_large`. */
  async *tarIn(reader: ByteReader): AsyncGenerator<Uint8Array, void> {
    let given = 0;
    for await (const chunk of tarIn(reader)) {
      const mostByRatio = Math.max(smallBytes, this.#ratio * reader.bytesRead);
      const left = Math.min(this.#bytes, mostByRatio) - given;
      // First yield the part within the limits, so that the error names the entry that exceeds them.
      yield chunk.subarray(0, left);
      if (chunk.length > left)
        throw this.#tooLarge(
          mostByRatio < this.#bytes ? `${this.#ratio} times its own size (limits.ratio)` : this.#bytesLimit,
        );
      given += chunk.length;
    }
  }

  get #bytesLimit(): string {
    return `${this.#bytes} bytes (limits.bytes)`;
  }

  /** The error for the entry that exceeds `limit`. */
  #tooLarge(limit: string): ArchiveError {
    const problem = `it has more than ${limit} when it is extracted. Raise this limit if you trust the archive`;
    return new ArchiveError(
      'too_large',
      this.#entry === undefined ? `the archive is too large: ${problem}` : `makes the archive too large: ${problem}`,
      this.#entry,
    );
  }
}
