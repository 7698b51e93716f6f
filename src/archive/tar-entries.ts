import { extract as tarExtract, type Extract, type ExtractEvents, type Header } from 'tar-stream';
import { ArchiveError } from './errors.ts';

/** Takes the content of an entry of a tar. The reader waits for each promise that a method returns. */
export type EntrySink = { write(chunk: Buffer): Promise<void> | undefined; end(): Promise<void> | undefined };

/**
 * Called for each entry of a tar. Returns the sink that takes its content, or `undefined` to skip the content. If it
 * throws, reading ends.
 */
export type EntryListener = (header: Header) => EntrySink | undefined;

const blockBytes = 512;

/**
 * Reads a tar and calls `onEntry` for each entry. Throws an `ArchiveError` if the tar is damaged, has no end mark, or has
 * data after the mark.
 */
export async function readTar(chunks: AsyncIterable<Uint8Array>, onEntry: EntryListener): Promise<void> {
  const tar = new TarReader(onEntry);
  try {
    for await (const chunk of chunks) if (chunk.length > 0) await tar.add(chunk);
    await tar.end();
  } finally {
    tar.close();
  }
}

/**
 * Reads a tar with tar-stream, and checks its end. tar-stream accepts a tar without an end mark, and reads on after the
 * mark. So this class looks for the mark, at least two blocks of zeros, wherever the header of the next entry could begin.
 */
class TarReader {
  // Reads each chunk completely before the next one is written, so that `#chunk` contains the header of the current entry.
  readonly #tar: Extract = tarExtract({ highWaterMark: 1 });
  readonly #onEntry: EntryListener;
  #failure: unknown;
  #entries = 0;
  /** Whole blocks; an incomplete last block waits for more. */
  #chunk: Buffer = Buffer.alloc(0);
  #rest: Buffer = Buffer.alloc(0);
  #chunkStart = 0;
  #nextHeader = 0;
  #mark: number | undefined;
  #entryDone = Promise.resolve();

  constructor(onEntry: EntryListener) {
    this.#onEntry = onEntry;
    this.#tar.on('error', (error) => (this.#failure ??= this.#damage(error.message)));
    this.#tar.on('entry', (header, body, readOn) => {
      this.#entryDone = this.#read(header, body).then(
        () => readOn(),
        (error: unknown) => {
          this.#failure ??= error;
          this.#tar.destroy();
        },
      );
    });
  }

  async add(bytes: Uint8Array): Promise<void> {
    const all =
      this.#rest.length === 0
        ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
        : Buffer.concat([this.#rest, bytes]);
    const end = all.length - (all.length % blockBytes);
    this.#rest = all.subarray(end);
    this.#chunkStart += this.#chunk.length;
    this.#chunk = all.subarray(0, end);
    this.#lookForMark();
    const beforeMark = this.#chunk.subarray(0, Math.max((this.#mark ?? Infinity) - this.#chunkStart, 0));
    if (beforeMark.length > 0 && !this.#tar.write(beforeMark)) await drained(this.#tar).catch(() => {});
    if (this.#failure !== undefined) throw this.#failure;
  }

  async end(): Promise<void> {
    const end = this.#chunkStart + this.#chunk.length;
    const isEmpty = end + this.#rest.length === 0;
    if (this.#mark === undefined && this.#entries === 0)
      throw this.#damage(isEmpty ? 'it is empty' : 'it is too short');
    if (this.#mark === undefined || end - this.#mark < 2 * blockBytes) {
      throw new ArchiveError('truncated', 'the archive is incomplete: its tar has no end mark');
    }
    if (!isZero(this.#rest)) throw goesOn();
    await this.#entryDone;
    if (this.#failure !== undefined) throw this.#failure;
  }

  close(): void {
    this.#tar.destroy();
  }

  async #read(header: Header, body: ExtractEvents['entry'][1]): Promise<void> {
    this.#entries += 1;
    // For an unreadable size tar-stream gives null, although its types say otherwise, and would never end.
    if (!Number.isSafeInteger(header.size))
      throw this.#damage(`the size of ${JSON.stringify(header.name)} is not a number`);
    // tar-stream's types lack the offset of the content.
    const { byteOffset } = header as Header & { byteOffset: number };
    // tar-stream reads no content for a directory, even if the header has a size.
    const size = header.type === 'directory' ? 0 : header.size;
    this.#nextHeader = byteOffset + Math.ceil(size / blockBytes) * blockBytes;
    this.#lookForMark();
    const sink = this.#onEntry(header);
    if (size > 0) await this.#pass(body, sink);
    await sink?.end();
  }

  async #pass(body: ExtractEvents['entry'][1], sink: EntrySink | undefined): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      body.on('data', (chunk) => {
        const written = sink?.write(chunk as Buffer);
        if (written === undefined) return;
        body.pause();
        written.then(() => body.resume(), reject);
      });
      body.on('end', resolve);
      body.on('error', reject);
    });
  }

  #lookForMark(): void {
    if (this.#mark === undefined) {
      const offset = this.#nextHeader - this.#chunkStart;
      if (offset < 0 || offset >= this.#chunk.length || !isZero(this.#chunk.subarray(offset, offset + blockBytes)))
        return;
      this.#mark = this.#nextHeader;
    }
    if (!isZero(this.#chunk.subarray(Math.max(this.#mark - this.#chunkStart, 0)))) throw goesOn();
  }

  #damage(problem: string): ArchiveError {
    if (this.#entries > 0) return new ArchiveError('corrupt', `the tar in the archive is damaged: ${problem}`);
    return new ArchiveError('not_an_archive', `the file is neither a tar nor a tar compressed with zstd: ${problem}`);
  }
}

function isZero(bytes: Buffer): boolean {
  return bytes.length === 0 || (bytes[0] === 0 && bytes.subarray(1).equals(bytes.subarray(0, -1)));
}

function goesOn(): ArchiveError {
  return new ArchiveError('trailing_bytes', 'the tar in the archive has other data after its end mark');
}

type Drainable = {
  readonly destroyed: boolean;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
};

/** Waits until a full stream takes more data. Rejects if the stream closes first. Its `error` event then has the reason. */
export async function drained(stream: Drainable): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onDrain = () => settle(resolve);
    const onClose = () => settle(() => reject(new Error('the stream was closed')));
    const settle = (outcome: () => void) => {
      stream.off('drain', onDrain);
      stream.off('close', onClose);
      outcome();
    };
    stream.on('drain', onDrain);
    stream.on('close', onClose);
    if (stream.destroyed) onClose();
  });
}
