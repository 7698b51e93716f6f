import { promisify } from 'node:util';
import { crc32, deflate, inflate } from 'node:zlib';

export type Size = { width: number; height: number };
export type Rectangle = Size & { x: number; y: number };

/** The size of a PNG image, in pixels. */
export function pngSize(png: Buffer): Size {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

/**
 * Cuts a rectangle out of a PNG image with 8 bits per channel and no interlacing, as Chromium makes it. The rectangle
 * must lie inside.
 */
export async function cropPng(png: Buffer, { x, y, width, height }: Rectangle): Promise<Buffer> {
  const header = Buffer.from(png.subarray(16, 29));
  const pixelBytes = bytesPerPixel[header[9] ?? 0];
  if (header[8] !== 8 || pixelBytes === undefined || header[12] !== 0)
    throw new Error(
      "the browser's screenshot can't be cropped: its PNG must have 8 bits per channel, RGB or RGBA, and no interlacing",
    );
  const rowBytes = pngSize(png).width * pixelBytes;
  const pixels = await inflated(imageData(png));
  unfilter(pixels, y + height, rowBytes, pixelBytes);
  const rows = Array.from({ length: height }, (_, index) => {
    const start = (y + index) * (rowBytes + 1) + 1 + x * pixelBytes;
    return Buffer.concat([unfiltered, pixels.subarray(start, start + width * pixelBytes)]);
  });
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const data = await deflated(Buffer.concat(rows));
  return Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const inflated = promisify<Buffer, Buffer>(inflate);
const deflated = promisify<Buffer, Buffer>(deflate);

/** By colour type: RGB and RGBA. */
const bytesPerPixel: Record<number, number> = { 2: 3, 6: 4 };

/** The filter of a row that holds the pixels themselves. */
const unfiltered = Buffer.from([0]);

function imageData(png: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let start = 8; start < png.length;) {
    const end = start + 8 + png.readUInt32BE(start);
    if (png.toString('latin1', start + 4, start + 8) === 'IDAT') parts.push(png.subarray(start + 8, end));
    start = end + 4;
  }
  return Buffer.concat(parts);
}

function chunk(type: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(data.length + 12);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, 'latin1');
  data.copy(bytes, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, -4)), data.length + 8);
  return bytes;
}

/**
 * Decodes the first rows in place. PNG stores the difference to the pixels beside and above. Each row begins with the
 * number of its filter.
 */
function unfilter(pixels: Buffer, rows: number, rowBytes: number, pixelBytes: number): void {
  for (let row = 0; row < rows; row++) {
    const start = row * (rowBytes + 1) + 1;
    const filter = pixels[start - 1]!;
    if (filter === 0) continue;
    for (let at = start; at < start + rowBytes; at++) {
      const hasLeft = at >= start + pixelBytes;
      const left = hasLeft ? pixels[at - pixelBytes]! : 0;
      const up = row > 0 ? pixels[at - rowBytes - 1]! : 0;
      const upLeft = row > 0 && hasLeft ? pixels[at - rowBytes - 1 - pixelBytes]! : 0;
      pixels[at] = pixels[at]! + predicted(filter, left, up, upLeft);
    }
  }
}

function predicted(filter: number, left: number, up: number, upLeft: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const estimate = left + up - upLeft;
  const [byLeft, byUp, byUpLeft] = [
    Math.abs(estimate - left),
    Math.abs(estimate - up),
    Math.abs(estimate - upLeft),
  ] as const;
  if (byLeft <= byUp && byLeft <= byUpLeft) return left;
  return byUp <= byUpLeft ? up : upLeft;
}
