import type { Frame, Muxer, Track, Write } from './muxer.browser.ts';
import { ascii, colorNumbers, joined, unsigned } from './muxer.browser.ts';

type Fragment = { at: number; position: number };

const trackId = 1;
/** Time units in a second. With ms and 32 bits, one frame can last for 49 days. */
const timescale = 1000;
const sampleFlags = { key: 0x0200_0000, delta: 0x0101_0000 };

/**
 * Writes fragmented MP4 files with H.264 video (ISO/IEC 14496-12 and 14496-15). A key frame begins a fragment. `finish`
 * adds a table of the fragments, so that players can seek.
 */
export class Mp4Muxer implements Muxer {
  readonly #write: Write;
  readonly #fragments: Fragment[] = [];
  #position = 0;
  #frames: Frame[] = [];

  constructor(track: Track, write: Write) {
    this.#write = write;
    this.#append(box('ftyp', ascii('iso5'), u32(0x200), ascii('iso5iso6avc1mp41')));
    this.#append(movie(track));
  }

  add(frame: Frame): void {
    if (frame.isKey) this.#writeFragment(frame.at);
    this.#frames.push(frame);
  }

  finish(): void {
    const last = this.#frames.at(-1);
    if (last) this.#writeFragment(last.at + last.duration);
    // Each entry: time, position, and one byte each for the numbers of fragment, run and sample.
    const places = this.#fragments.map(({ at, position }) => joined(u64(at), u64(position), Uint8Array.of(1, 1, 1)));
    const table = fullBox('tfra', 1, 0, u32(trackId), u32(0), u32(places.length), ...places);
    const mfraSize = 8 + table.length + 16;
    this.#append(box('mfra', table, fullBox('mfro', 0, 0, u32(mfraSize))));
  }

  /** The last frame lasts until `end`. */
  #writeFragment(end: number): void {
    const [first] = this.#frames;
    if (first === undefined) return;
    const samples = this.#frames.map(({ at, isKey, data }, index) =>
      joined(
        u32((this.#frames[index + 1]?.at ?? end) - at),
        u32(data.length),
        u32(isKey ? sampleFlags.key : sampleFlags.delta),
      ),
    );
    this.#fragments.push({ at: first.at, position: this.#position });
    const fragment = (dataOffset: number) =>
      box(
        'moof',
        fullBox('mfhd', 0, 0, u32(this.#fragments.length)),
        box(
          'traf',
          // The flag: offsets count from the moof box.
          fullBox('tfhd', 0, 0x02_0000, u32(trackId)),
          fullBox('tfdt', 1, 0, u64(first.at)),
          // The flags: the box has the offset of the data, and each sample's duration, size and flags.
          fullBox('trun', 0, 0x000701, u32(samples.length), u32(dataOffset), ...samples),
        ),
      );
    const headerBytes = 8;
    this.#append(fragment(fragment(0).length + headerBytes));
    this.#append(box('mdat', ...this.#frames.map(({ data }) => data)));
    this.#frames = [];
  }

  #append(bytes: Uint8Array): void {
    this.#write(this.#position, bytes);
    this.#position += bytes.length;
  }
}

function movie({ width, height, description = new Uint8Array(), color }: Track): Uint8Array {
  const noTimes = new Uint8Array(8);
  const unknownDuration = u32(0);
  const colr = color === undefined ? [] : [colourOf(color)];
  const avc1 = box(
    'avc1',
    new Uint8Array(6),
    u16(1), // The data reference.
    new Uint8Array(16),
    u16(width),
    u16(height),
    u32(0x0048_0000), // 72 dots per inch.
    u32(0x0048_0000),
    u32(0),
    u16(1), // Frames per sample.
    new Uint8Array(32),
    u16(0x18), // Bits per pixel.
    u16(0xffff),
    box('avcC', description),
    ...colr,
  );
  const sampleTable = box(
    'stbl',
    fullBox('stsd', 0, 0, u32(1), avc1),
    fullBox('stts', 0, 0, u32(0)),
    fullBox('stsc', 0, 0, u32(0)),
    fullBox('stsz', 0, 0, u32(0), u32(0)),
    fullBox('stco', 0, 0, u32(0)),
  );
  const ownData = fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1));
  const media = box(
    'mdia',
    fullBox('mdhd', 0, 0, noTimes, u32(timescale), unknownDuration, u16(0x55c4), u16(0)), // 0x55c4: no language.
    fullBox('hdlr', 0, 0, u32(0), ascii('vide'), new Uint8Array(12), ascii('VideoHandler\0')),
    box('minf', fullBox('vmhd', 0, 1, new Uint8Array(8)), box('dinf', ownData), sampleTable),
  );
  return box(
    'moov',
    fullBox(
      'mvhd',
      0,
      0,
      noTimes,
      u32(timescale),
      unknownDuration,
      u32(0x0001_0000), // Speed 1, volume 1.
      u16(0x0100),
      new Uint8Array(10),
      matrix,
      new Uint8Array(24),
      u32(trackId + 1),
    ),
    box(
      'trak',
      // Enabled, and part of the movie.
      fullBox(
        'tkhd',
        0,
        3,
        noTimes,
        u32(trackId),
        u32(0),
        unknownDuration,
        new Uint8Array(16),
        matrix,
        u16(width),
        u16(0),
        u16(height),
        u16(0),
      ),
      media,
    ),
    box('mvex', fullBox('trex', 0, 0, u32(trackId), u32(1), new Uint8Array(12))),
  );
}

function colourOf(color: VideoColorSpaceInit): Uint8Array {
  const { primaries, transfer, matrix: matrixNumber, isFullRange } = colorNumbers(color);
  const range = Uint8Array.of(isFullRange ? 0x80 : 0);
  return box('colr', ascii('nclx'), u16(primaries), u16(transfer), u16(matrixNumber), range);
}

function fullBox(type: string, version: number, flags: number, ...contents: Uint8Array[]): Uint8Array {
  return box(type, unsigned(version, 1), unsigned(flags, 3), ...contents);
}

function box(type: string, ...contents: Uint8Array[]): Uint8Array {
  const content = joined(...contents);
  return joined(u32(content.length + 8), ascii(type), content);
}

function u16(value: number): Uint8Array {
  return unsigned(value, 2);
}

function u32(value: number): Uint8Array {
  return unsigned(value, 4);
}

function u64(value: number): Uint8Array {
  return unsigned(value, 8);
}

/** The matrix of a picture that is neither rotated nor scaled. */
const matrix = joined(...[1, 0, 0, 0, 1, 0, 0, 0, 0x4000].map((value) => u32(value * 0x1_0000)));
