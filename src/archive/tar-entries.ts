import { extract as tarExtract, type Extract, type ExtractEvents, type Header } from 'tar-stream';
import { drained } from './drained.ts';
import { ArchiveError } from './errors.ts';

/** Takes the content of an entry. While a promise that it has returned is pending it is not called again. */
export type EntrySink = { write(chunk: Buffer): Promise<void> | undefined; end(): Promise<void> | undefined };

/** Called for each entry of a tar, in order. The content goes to the sink, or nowhere. What it throws ends the reading. */
export type EntryListener = (header: Header) => EntrySink | undefined;

const blockBytes = 512;

/** Reads a tar. Throws an `ArchiveError` where it is damaged, ends before its end mark, or goes on after it. */
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
 * tar-stream does the reading, but takes a tar without its end mark for complete, and reads on after the mark. So this one looks itself
 * for the mark, at least two blocks of zeros, where the header of the next entry could begin.
 */
class TarReader {
  // So each chunk is used up before the next one is written, and `#chunk` is what an entry's header was in.
  readonly #tar: Extract = tarExtract({ highWaterMark: 1 });
  readonly #onEntry: EntryListener;
  #failure: unknown;
  #entries = 0;
  /** Whole blocks; what is left of the last one waits for more. */
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
      this.#rest.length === 0 ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : Buffer.concat([this.#rest, bytes]);
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
    if (this.#mark === undefined && this.#entries === 0) throw this.#damage(isEmpty ? 'it is empty' : 'it is too short');
    if (this.#mark === undefined || end - this.#mark < 2 * blockBytes) {
      throw new ArchiveError('truncated', 'the tar in the archive ends before its end mark: it was cut off');
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
    // tar-stream gives null for a size that it cannot read, whatever its types say, and would wait for the end of such a body for ever.
    if (!Number.isSafeInteger(header.size)) throw this.#damage(`the size of ${JSON.stringify(header.name)} is not a number`);
    // tar-stream says where the content begins, which its types don't.
    const { byteOffset } = header as Header & { byteOffset: number };
    // As for tar-stream, a directory has no content, whatever its size; the body of one that names a size would never end.
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
      if (offset < 0 || offset >= this.#chunk.length || !isZero(this.#chunk.subarray(offset, offset + blockBytes))) return;
      this.#mark = this.#nextHeader;
    }
    if (!isZero(this.#chunk.subarray(Math.max(this.#mark - this.#chunkStart, 0)))) throw goesOn();
  }

  #damage(problem: string): ArchiveError {
    if (this.#entries > 0) return new ArchiveError('corrupt', `the tar in the archive is damaged: ${problem}`);
    return new ArchiveError('not_an_archive', `what was given is neither a tar nor a tar compressed with zstd: ${problem}`);
  }
}

function isZero(bytes: Buffer): boolean {
  return bytes.length === 0 || (bytes[0] === 0 && bytes.subarray(1).equals(bytes.subarray(0, -1)));
}

function goesOn(): ArchiveError {
  return new ArchiveError('trailing_bytes', 'the tar in the archive goes on after its end mark');
}
