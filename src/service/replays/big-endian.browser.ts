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
