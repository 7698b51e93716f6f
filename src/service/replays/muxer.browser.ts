/** Puts the encoded frames of one video into a file. */
export type Muxer = {
  /** Adds the next frame. A key frame completes the part of the file with the frames before it. */
  add(frame: Frame): void;
  /** Completes the file. */
  finish(): void;
};

/** An encoded frame. Times in ms. Each frame must be later than the one before. */
export type Frame = { at: number; duration: number; isKey: boolean; data: Uint8Array };

/** The properties of a video that its file states. */
export type Track = {
  width: number;
  height: number;
  /** The decoder's settings. H.264 needs them. */
  description?: Uint8Array | undefined;
  color?: VideoColorSpaceInit | undefined;
};

/** Writes bytes at a position of the file. Later bytes can replace earlier ones. */
export type Write = (position: number, data: Uint8Array) => void;

/** The numbers of a colour space in ITU-T H.273. */
export function colorNumbers({ primaries, transfer, matrix, fullRange }: VideoColorSpaceInit) {
  return {
    primaries: numberOf(primaries),
    transfer: numberOf(transfer),
    matrix: numberOf(matrix),
    isFullRange: fullRange === true,
  };
}

function numberOf(name: string | null | undefined): number {
  return numbersByName[name ?? ''] ?? unspecified;
}

const unspecified = 2;

/** A name has the same number in each of the three tables of H.273: primaries, transfer and matrix. */
const numbersByName: Record<string, number> = {
  rgb: 0,
  bt709: 1,
  bt470bg: 5,
  smpte170m: 6,
  linear: 8,
  bt2020: 9,
  'bt2020-ncl': 9,
  smpte432: 12,
  'iec61966-2-1': 13,
  pq: 16,
  hlg: 18,
};

// Builds bytes for video files: MP4 and WebM store numbers with the highest byte first (big-endian).

/** An unsigned integer in this number of bytes. */
export function unsigned(value: number, bytes: number): Uint8Array {
  const result = new Uint8Array(bytes);
  for (let at = bytes - 1, rest = value; at >= 0; at--, rest = Math.floor(rest / 256)) result[at] = rest % 256;
  return result;
}

export function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

export function joined(...parts: Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
