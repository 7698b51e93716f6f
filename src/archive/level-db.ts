const footerSize = 48;
/** In bytes. Local storage holds at most 10 MB for an origin, so its blocks are smaller. */
const largestBlock = 64 * 1024 * 1024;

/** Reads the keys of a LevelDB table file (`.ldb`). Stops at the first damage, where Chromium stops, too. */
export function* tableKeys(table: Buffer): Generator<string> {
  try {
    yield* wholeTableKeys(table);
  } catch (error) {
    // A number points outside of the table: it is damaged.
    if (!(error instanceof RangeError)) throw error;
  }
}

function* wholeTableKeys(table: Buffer): Generator<string> {
  const footer = new Reader(table, table.length - footerSize);
  // The handle of the index of filters comes first.
  footer.varint();
  footer.varint();
  for (const [, handle] of entries(blockAt(table, footer.varint(), footer.varint()))) {
    const place = new Reader(handle);
    for (const [key] of entries(blockAt(table, place.varint(), place.varint()))) yield key.toString('latin1');
  }
}

/** Reads the block at this position. The byte after it says how it is compressed. */
function blockAt(table: Buffer, start: number, size: number): Buffer {
  const block = table.subarray(start, start + size);
  return table[start + size] === 1 ? unsnapped(block) : block;
}

/**
 * The keys and values of a block. Each key has only the bytes after the beginning that it shares with the previous key. A
 * list at the end has the positions of some keys that share nothing, and the list's length.
 */
function* entries(block: Buffer): Generator<[key: Buffer, value: Buffer]> {
  const end = block.length - 4 - 4 * block.readUInt32LE(block.length - 4);
  const reader = new Reader(block);
  let key: Buffer = Buffer.alloc(0);
  while (reader.position < end) {
    const [shared, rest, size] = [reader.varint(), reader.varint(), reader.varint()];
    key = Buffer.concat([key.subarray(0, shared), reader.take(rest)]);
    yield [key, reader.take(size)];
  }
}

/** Decompresses Snappy: literals, and copies of earlier output. */
function unsnapped(compressed: Buffer): Buffer {
  const reader = new Reader(compressed);
  const size = reader.varint();
  if (size > largestBlock)
    throw new RangeError(`a LevelDB block of ${size} bytes is larger than any that Chromium writes`);
  const whole = Buffer.alloc(size);
  let filled = 0;
  while (reader.position < compressed.length) {
    const tag = reader.number(1);
    const kind = tag & 3;
    if (kind === 0) {
      const short = tag >> 2;
      const length = (short < 60 ? short : reader.number(short - 59)) + 1;
      filled += reader.take(length).copy(whole, filled);
      continue;
    }
    const length = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const distance = kind === 1 ? ((tag >> 5) << 8) + reader.number(1) : reader.number(kind === 2 ? 2 : 4);
    // Byte by byte, because a copy may begin in earlier output and continue in its own.
    for (let count = 0; count < length; count += 1, filled += 1) whole[filled] = whole[filled - distance]!;
  }
  return whole;
}

class Reader {
  readonly #bytes: Buffer;
  position: number;

  constructor(bytes: Buffer, position = 0) {
    this.#bytes = bytes;
    this.position = position;
  }

  /** An unsigned number of `size` bytes, the lowest byte first. */
  number(size: number): number {
    const value = this.#bytes.readUIntLE(this.position, size);
    this.position += size;
    return value;
  }

  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.number(1);
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  }

  take(size: number): Buffer {
    this.position += size;
    return this.#bytes.subarray(this.position - size, this.position);
  }
}
