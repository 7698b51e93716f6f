import { randomUUID } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Claim } from '../process/waiting-bytes.ts';

/** The size of a block in bytes. Three bytes become four characters of base64, so blocks can be encoded one by one. */
const blockSize = 3 * 16 * 1024;
/** The most blocks in memory. The others are in a file. */
const mostBlocks = 2;

/**
 * The output of a program until it is sent. Most of it is in a file without a name: memory would make each start of a
 * program slower, because the kernel copies the tables of all pages of the service then (40 ms for 100 MB).
 */
export class KeptBytes {
  readonly #waiting: Claim;
  readonly #directory: string;
  #blocks: Buffer[] = [];
  #file: FileHandle | undefined;
  #inFile = 0;
  #size = 0;
  #isDropped = false;

  /** The file is made in `directory`. `waiting` counts the bytes. */
  constructor(waiting: Claim, directory: string) {
    this.#waiting = waiting;
    this.#directory = directory;
  }

  get size(): number {
    return this.#size;
  }

  /** The number of characters of the bytes as base64. */
  get base64Length(): number {
    return Math.ceil(this.#size / 3) * 4;
  }

  /** Whether blocks should be moved to the file before more bytes are added. */
  get isFull(): boolean {
    return this.#blocks.length > mostBlocks;
  }

  /** Throws `OverBudget`. Ignores bytes after `drop`. */
  add(data: Buffer): void {
    if (this.#isDropped) return;
    this.#waiting.take(data.length);
    for (let rest = data; rest.length > 0;) {
      const used = this.#size % blockSize;
      if (used === 0) this.#blocks.push(Buffer.allocUnsafeSlow(blockSize));
      const count = rest.copy(this.#blocks.at(-1)!, used);
      this.#size += count;
      rest = rest.subarray(count);
    }
  }

  /** Moves the full blocks to the file. Don't call it again meanwhile. */
  async moveToFile(): Promise<void> {
    this.#file ??= await fileWithoutName(this.#directory);
    if (this.#isDropped) return await this.#close();
    const count = Math.floor(this.#size / blockSize) - this.#inFile / blockSize;
    const full = this.#blocks.slice(0, count);
    await this.#file.writev(full, this.#inFile);
    this.#inFile += count * blockSize;
    this.#blocks.splice(0, count);
  }

  /** Drops the bytes. */
  drop(): void {
    this.#isDropped = true;
    this.#waiting.release(this.#size);
    this.#blocks = [];
    void this.#close();
  }

  toString(encoding: BufferEncoding): string {
    return Buffer.concat(this.#blocks, this.#size).toString(encoding);
  }

  /** The bytes as base64, block by block. A block no longer counts when the next one is asked for. */
  async *base64(): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.#size; at += blockSize) {
      const block = at < this.#inFile ? await this.#read(at) : this.#blocks.shift()!.subarray(0, this.#size - at);
      yield Buffer.from(block.toString('base64'), 'latin1');
      this.#waiting.release(block.length);
    }
    await this.#close();
  }

  async #read(at: number): Promise<Buffer> {
    const block = Buffer.allocUnsafeSlow(blockSize);
    const { bytesRead } = await this.#file!.read(block, 0, blockSize, at);
    if (bytesRead < blockSize) throw new Error('The file with the output of a program ended early');
    return block;
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => {});
  }
}

/** The kernel removes it when it is closed, or when the service is killed. */
async function fileWithoutName(directory: string): Promise<FileHandle> {
  const path = join(directory, `output-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}
