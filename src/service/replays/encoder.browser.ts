// Encodes videos in the page of a separate Chromium. `encoder.ts` calls the exports over CDP.
import { Mp4Muxer } from './mp4.browser.ts';
import type { Frame, Muxer, Track, Write } from './muxer.browser.ts';
import type { VideoFormat, VideoSettings } from './video.ts';
import { WebmMuxer } from './webm.browser.ts';

type Format = {
  codec: string;
  contentType: string;
  avc?: AvcEncoderConfig;
  mux: (track: Track, write: Write) => Muxer;
};

/** Bytes to write at a position of the file. */
type Part = [position: number, base64: string];

/** In seconds. The next key frame completes a fragment. */
const keyFrameInterval = 2;
/** The duration of the last frame, in seconds. */
const lastFrame = 0.001;

/** The best format first. The levels in the codec names are high enough for the largest videos. */
const formats: Record<VideoFormat, Format> = {
  h264: {
    codec: 'avc1.640033',
    contentType: 'video/mp4',
    avc: { format: 'avc' },
    mux: (track, write) => new Mp4Muxer(track, write),
  },
  vp9: {
    codec: 'vp09.00.51.08',
    contentType: 'video/webm',
    mux: (track, write) => new WebmMuxer('V_VP9', track, write),
  },
  vp8: { codec: 'vp8', contentType: 'video/webm', mux: (track, write) => new WebmMuxer('V_VP8', track, write) },
};

const recordings = new Map<string, Recording>();

/** Begins a video. Without a name, takes the best format that this browser can encode. `undefined` if it can't. */
export async function open(
  id: string,
  name: VideoFormat | undefined,
  { width, height, framerate }: VideoSettings,
): Promise<{ contentType: string } | undefined> {
  const bitrate = Math.min(6_000_000, Math.round(width * height * framerate * 0.12));
  for (const format of name === undefined ? Object.values(formats) : [formats[name]]) {
    const { codec, avc, contentType } = format;
    const config: VideoEncoderConfig = { codec, avc, width, height, framerate, bitrate, latencyMode: 'realtime' };
    const { supported } = await VideoEncoder.isConfigSupported(config);
    if (!supported) continue;
    const recording = new Recording(format, config);
    recordings.set(id, recording);
    await recording.start();
    return { contentType };
  }
  return undefined;
}

/** Shows a JPEG image, in base64, from `at` seconds on. Returns the new parts of the file. */
export async function show(id: string, at: number, jpeg: string): Promise<Part[]> {
  const recording = recordings.get(id)!;
  await recording.show(at, jpeg);
  return recording.take();
}

/** Completes the file up to `at` seconds. Returns the new parts of the file. */
export async function write(id: string, at: number): Promise<Part[]> {
  const recording = recordings.get(id)!;
  await recording.write(at);
  return recording.take();
}

/** Ends the video at `at` seconds. Returns the last parts of the file. */
export async function finish(id: string, at: number): Promise<Part[]> {
  const recording = recordings.get(id)!;
  await recording.finish(at);
  recordings.delete(id);
  return recording.take();
}

/** Gives the video up. */
export function cancel(id: string): void {
  const recording = recordings.get(id);
  recordings.delete(id);
  recording?.cancel();
}

class Recording {
  readonly #canvas: OffscreenCanvas;
  readonly #context: OffscreenCanvasRenderingContext2D;
  readonly #encoder: VideoEncoder;
  readonly #parts: Part[] = [];
  #muxer: Muxer | undefined;
  #failure: Error | undefined;
  #lastAt = -1;
  #lastKeyAt = -Infinity;

  constructor({ mux }: Format, config: VideoEncoderConfig) {
    const { width, height } = config;
    this.#canvas = new OffscreenCanvas(width, height);
    this.#context = this.#canvas.getContext('2d', { alpha: false })!;
    this.#context.fillStyle = 'white';
    this.#context.fillRect(0, 0, width, height);
    const write: Write = (position, data) => void this.#parts.push([position, toBase64(data)]);
    this.#encoder = new VideoEncoder({
      output: (chunk, metadata) => {
        this.#muxer ??= mux({ width, height, ...decodingOf(metadata) }, write);
        this.#muxer.add(frameOf(chunk));
      },
      error: (error) => (this.#failure = error),
    });
    this.#encoder.configure(config);
  }

  async start(): Promise<void> {
    await this.#encode(0);
  }

  async show(at: number, jpeg: string): Promise<void> {
    const image = await createImageBitmap(new Blob([fromBase64(jpeg)], { type: 'image/jpeg' }));
    const { width, height } = this.#canvas;
    const scale = Math.min(1, width / image.width, height / image.height);
    const [w, h] = [Math.round(image.width * scale), Math.round(image.height * scale)];
    if (w < width || h < height) this.#context.clearRect(0, 0, width, height);
    this.#context.drawImage(image, Math.floor((width - w) / 2), Math.floor((height - h) / 2), w, h);
    image.close();
    await this.#encode(at);
  }

  /** Writes everything up to `at` seconds: extends the picture until then, and ends the fragment with a key frame. */
  async write(at: number): Promise<void> {
    await this.#encode(at);
    await this.#encode(at, true);
    await this.#encoder.flush();
  }

  async finish(at: number): Promise<void> {
    await this.#encode(Math.max(0, at - lastFrame));
    await this.#encoder.flush();
    this.#muxer!.finish();
  }

  cancel(): void {
    if (this.#encoder.state !== 'closed') this.#encoder.close();
  }

  /** The parts that were written since the last call. */
  take(): Part[] {
    return this.#parts.splice(0);
  }

  async #encode(at: number, isKeyFrame = at - this.#lastKeyAt >= keyFrameInterval): Promise<void> {
    if (this.#failure) throw this.#failure;
    const time = Math.max(at, this.#lastAt + lastFrame);
    this.#lastAt = time;
    if (isKeyFrame) this.#lastKeyAt = time;
    const frame = new VideoFrame(this.#canvas, { timestamp: Math.round(time * 1e6), duration: lastFrame * 1e6 });
    this.#encoder.encode(frame, { keyFrame: isKeyFrame });
    frame.close();
    while (this.#encoder.encodeQueueSize > 1) await new Promise((resolve) => (this.#encoder.ondequeue = resolve));
  }
}

function decodingOf(metadata: EncodedVideoChunkMetadata | undefined): Pick<Track, 'description' | 'color'> {
  const { description, colorSpace } = metadata?.decoderConfig ?? {};
  return { description: description && bytesOf(description), color: colorSpace };
}

function frameOf(chunk: EncodedVideoChunk): Frame {
  const data = new Uint8Array(chunk.byteLength);
  chunk.copyTo(data);
  const at = Math.round(chunk.timestamp / 1000);
  return { at, duration: lastFrame * 1000, isKey: chunk.type === 'key', data };
}

function bytesOf(source: AllowSharedBufferSource): Uint8Array {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.length; start += 0x8000)
    text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(text);
}
