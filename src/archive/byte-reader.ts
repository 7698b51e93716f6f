import { Readable } from 'node:stream';
import { ArchiveError } from './errors.ts';

/** Reads an exact number of bytes at a time from a stream. If the signal aborts, every wait rejects with its reason. */
export class ByteReader {
  /** The number of bytes that the source has given so far. */
  bytesRead = 0;
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.#interrupt?.(this.#signal?.reason);
  #interrupt: ((reason: unknown) => void) | undefined;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(source: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined) {
    this.#source = source;
    // A stream may fail before it is read. Its iterator reports the failure later.
    if (source instanceof Readable) source.on('error', () => {});
    this.#chunks = source[Symbol.asyncIterator]();
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort);
  }

  /** The number of bytes that were taken so far. */
  get position(): number {
    return this.bytesRead - this.#restBytes;
  }

  /** Returns the next `length` bytes, or fewer at the end, without taking them. */
  async peek(length: number): Promise<Buffer> {
    while (this.#restBytes < length && (await this.#pull()));
    if (this.#rest.length > 1) this.#rest = [Buffer.concat(this.#rest)];
    return (this.#rest[0] ?? Buffer.alloc(0)).subarray(0, length);
  }

  /** Takes exactly `length` bytes. Throws `truncated` if there are fewer. */
  async take(length: number): Promise<Buffer> {
    const parts = await this.takeParts(length);
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts, length);
  }

  /** Takes exactly `length` bytes, in the chunks of the source. Throws `truncated` if there are fewer. */
  async takeParts(length: number): Promise<Buffer[]> {
    while (this.#restBytes < length) {
      if (!(await this.#pull())) throw new ArchiveError('truncated', 'the archive is incomplete: it ends too early');
    }
    const parts: Buffer[] = [];
    for (let missing = length; missing > 0;) {
      const first = this.#rest[0]!;
      const part = first.subarray(0, missing);
      if (part.length === first.length) this.#rest.shift();
      else this.#rest[0] = first.subarray(part.length);
      parts.push(part);
      missing -= part.length;
    }
    this.#restBytes -= length;
    return parts;
  }

  /** Takes the next bytes as they come; `undefined` at the end. */
  async takeSome(): Promise<Buffer | undefined> {
    if (this.#rest.length === 0 && !(await this.#pull())) return undefined;
    return await this.take(this.#rest[0]!.length);
  }

  /** Closes the source without waiting for its next chunk. */
  close(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    if (this.#source instanceof Readable) this.#source.destroy();
    this.#chunks.return?.()?.catch(() => {});
  }

  async #pull(): Promise<boolean> {
    const signal = this.#signal;
    signal?.throwIfAborted();
    const { done, value } = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
      this.#interrupt = reject;
      this.#chunks.next().then(resolve, reject);
    });
    if (done === true) return false;
    this.bytesRead += value.length;
    if (value.length > 0) this.#rest.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    this.#restBytes += value.length;
    return true;
  }
}
