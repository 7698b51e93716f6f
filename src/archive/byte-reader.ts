import { Readable } from 'node:stream';
import { ArchiveError } from './errors.ts';

/** Reads a stream of chunks by numbers of bytes. Every wait ends when the signal aborts, with its reason. */
export class ByteReader {
  /** How many bytes the source has given so far. */
  bytesRead = 0;
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.#interrupt?.(this.#signal?.reason);
  #interrupt: ((reason: unknown) => void) | undefined;
  /** What has come and was not taken yet. */
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(source: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined) {
    this.#source = source;
    // A stream may fail before anybody reads from it; its iterator tells of that later.
    if (source instanceof Readable) source.on('error', () => {});
    this.#chunks = source[Symbol.asyncIterator]();
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort);
  }

  /** How many bytes have been taken. */
  get position(): number {
    return this.bytesRead - this.#restBytes;
  }

  /** The next bytes without taking them: `length`, or as many as there are. */
  async peek(length: number): Promise<Buffer> {
    while (this.#restBytes < length && (await this.#pull()));
    if (this.#rest.length > 1) this.#rest = [Buffer.concat(this.#rest)];
    return (this.#rest[0] ?? Buffer.alloc(0)).subarray(0, length);
  }

  /** Takes exactly `length` bytes. Throws `truncated` when there are fewer. */
  async take(length: number): Promise<Buffer> {
    const parts = await this.takeParts(length);
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts, length);
  }

  /** Takes exactly `length` bytes in the parts in which they came. Throws `truncated` when there are fewer. */
  async takeParts(length: number): Promise<Buffer[]> {
    while (this.#restBytes < length) {
      if (!(await this.#pull())) throw new ArchiveError('truncated', 'the archive ends too early: it was cut off');
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

  /** Gives the source up. What it is waiting for is not waited for. */
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
