import type { Frame, Muxer, Track, Write } from './muxer.browser.ts';
import { ascii, colorNumbers, joined, unsigned } from './muxer.browser.ts';

/** The ids of WebM elements, with their length marker (RFC 9559). */
const id = {
  header: 0x1a45dfa3,
  version: 0x4286,
  readVersion: 0x42f7,
  maxIdLength: 0x42f2,
  maxSizeLength: 0x42f3,
  docType: 0x4282,
  docTypeVersion: 0x4287,
  docTypeReadVersion: 0x4285,
  void: 0xec,
  segment: 0x18538067,
  seekHead: 0x114d9b74,
  seek: 0x4dbb,
  seekId: 0x53ab,
  seekPosition: 0x53ac,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  muxingApp: 0x4d80,
  writingApp: 0x5741,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  trackUid: 0x73c5,
  trackType: 0x83,
  flagLacing: 0x9c,
  codecId: 0x86,
  video: 0xe0,
  pixelWidth: 0xb0,
  pixelHeight: 0xba,
  colour: 0x55b0,
  matrixCoefficients: 0x55b1,
  range: 0x55b9,
  transferCharacteristics: 0x55ba,
  primaries: 0x55bb,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  simpleBlock: 0xa3,
  cues: 0x1c53bb6b,
  cuePoint: 0xbb,
  cueTime: 0xb3,
  cueTrackPositions: 0xb7,
  cueTrack: 0xf7,
  cueClusterPosition: 0xf1,
};

const trackNumber = 1;
const millisecond = 1_000_000; // In nanoseconds.
/** The number of bytes for the size of the file's content. Enough for 4 TB. */
const segmentSizeLength = 6;
/** The size field of a file that isn't complete yet: all bits are ones. */
const unknownSize = sized(2 ** (7 * segmentSizeLength) - 1, segmentSizeLength);

/**
 * Writes WebM files with VP8 or VP9 video. A key frame begins a cluster, which may last up to 32 s. `finish` adds the
 * duration and a table of the clusters, so that players can seek.
 */
export class WebmMuxer implements Muxer {
  readonly #write: Write;
  readonly #segment: number;
  readonly #info: Uint8Array;
  readonly #tracks: Uint8Array;
  readonly #cues: Uint8Array[] = [];
  #position: number;
  #frames: Frame[] = [];

  constructor(codecId: 'V_VP8' | 'V_VP9', track: Track, write: Write) {
    this.#write = write;
    this.#info = infoOf(element(id.void, new Uint8Array(durationOf(0).length - 2)));
    this.#tracks = tracksOf(codecId, track);
    const beginning = joined(header, unsigned(id.segment, 4), unknownSize);
    this.#segment = beginning.length;
    const seekHead = element(id.void, new Uint8Array(this.#seekHead(0).length - 2));
    const parts = joined(beginning, seekHead, this.#info, this.#tracks);
    write(0, parts);
    this.#position = parts.length;
  }

  add(frame: Frame): void {
    if (frame.isKey) this.#writeCluster();
    this.#frames.push(frame);
  }

  finish(): void {
    const last = this.#frames.at(-1);
    this.#writeCluster();
    const cues = this.#position - this.#segment;
    this.#append(element(id.cues, ...this.#cues));
    this.#write(this.#segment - segmentSizeLength, sized(this.#position - this.#segment, segmentSizeLength));
    const info = infoOf(durationOf(last === undefined ? 0 : last.at + last.duration));
    this.#write(this.#segment, joined(this.#seekHead(cues), info));
  }

  #writeCluster(): void {
    const [first] = this.#frames;
    if (first === undefined) return;
    const blocks = this.#frames.map(({ at, isKey, data }) =>
      element(id.simpleBlock, sized(trackNumber, 1), unsigned(at - first.at, 2), Uint8Array.of(isKey ? 0x80 : 0), data),
    );
    const position = this.#position - this.#segment;
    const place = element(
      id.cueTrackPositions,
      integer(id.cueTrack, trackNumber),
      integer(id.cueClusterPosition, position),
    );
    this.#cues.push(element(id.cuePoint, integer(id.cueTime, first.at), place));
    this.#append(element(id.cluster, integer(id.timestamp, first.at), ...blocks));
    this.#frames = [];
  }

  /**
   * The positions of the file's parts, in bytes from the start of the segment's content. Its length doesn't depend on
   * `cues`, so that `finish` can replace it.
   */
  #seekHead(cues: number): Uint8Array {
    const build = (length: number) =>
      element(
        id.seekHead,
        seekOf(id.info, length),
        seekOf(id.tracks, length + this.#info.length),
        seekOf(id.cues, cues),
      );
    return build(build(0).length);
  }

  #append(bytes: Uint8Array): void {
    this.#write(this.#position, bytes);
    this.#position += bytes.length;
  }
}

const header = element(
  id.header,
  integer(id.version, 1),
  integer(id.readVersion, 1),
  integer(id.maxIdLength, 4),
  integer(id.maxSizeLength, 8),
  element(id.docType, ascii('webm')),
  integer(id.docTypeVersion, 4),
  integer(id.docTypeReadVersion, 2),
);

function seekOf(target: number, position: number): Uint8Array {
  return element(id.seek, element(id.seekId, unsigned(target, 4)), element(id.seekPosition, unsigned(position, 6)));
}

function infoOf(duration: Uint8Array): Uint8Array {
  const app = ascii('playwright-pool');
  return element(
    id.info,
    integer(id.timestampScale, millisecond),
    element(id.muxingApp, app),
    element(id.writingApp, app),
    duration,
  );
}

function durationOf(milliseconds: number): Uint8Array {
  const float = new Uint8Array(8);
  new DataView(float.buffer).setFloat64(0, milliseconds);
  return element(id.duration, float);
}

function tracksOf(codecId: string, { width, height, color }: Track): Uint8Array {
  const entry = element(
    id.trackEntry,
    integer(id.trackNumber, trackNumber),
    integer(id.trackUid, trackNumber),
    integer(id.trackType, 1),
    integer(id.flagLacing, 0),
    element(id.codecId, ascii(codecId)),
    element(
      id.video,
      integer(id.pixelWidth, width),
      integer(id.pixelHeight, height),
      ...(color === undefined ? [] : [colourOf(color)]),
    ),
  );
  return element(id.tracks, entry);
}

function colourOf(color: VideoColorSpaceInit): Uint8Array {
  const { primaries, transfer, matrix, isFullRange } = colorNumbers(color);
  return element(
    id.colour,
    integer(id.matrixCoefficients, matrix),
    integer(id.range, isFullRange ? 2 : 1),
    integer(id.transferCharacteristics, transfer),
    integer(id.primaries, primaries),
  );
}

function integer(elementId: number, value: number): Uint8Array {
  return element(elementId, unsigned(value, lengthOf(value)));
}

function element(elementId: number, ...contents: Uint8Array[]): Uint8Array {
  const content = joined(...contents);
  // 0x7f in one byte would mean an unknown size.
  const bytes = content.length < 0x7f ? 1 : 5;
  return joined(unsigned(elementId, lengthOf(elementId)), sized(content.length, bytes), content);
}

/** A size in this number of bytes. The position of its highest bit tells readers the number of bytes. */
function sized(value: number, bytes: number): Uint8Array {
  return unsigned(2 ** (7 * bytes) + value, bytes);
}

function lengthOf(value: number): number {
  return Math.max(1, Math.ceil(Math.log2(value + 1) / 8));
}
