// Runs in the encoder's page; bundled with mediabunny. What it exports, encoder.ts calls.
import { EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output, StreamTarget, WebMOutputFormat } from 'mediabunny';

/** In seconds. A fragment is complete when the key frame that begins the next one comes. */
const keyFrameInterval = 2;
/** How long the last frame is shown, in seconds. */
const lastFrame = 0.001;

/** Each by the name that a setting gives it, in the order of preference. The levels are those of the largest videos. */
const formats = {
  h264: { codec: 'avc1.640033', name: 'avc', contentType: 'video/mp4', avc: { format: 'avc' } },
  vp9: { codec: 'vp09.00.51.08', name: 'vp9', contentType: 'video/webm' },
  vp8: { codec: 'vp8', name: 'vp8', contentType: 'video/webm' },
};

const recordings = new Map();

/** Begins a recording in the format of the given name, or the best that this browser can encode; `undefined` where there is none. */
export async function open(id, name, { width, height, framerate }) {
  const bitrate = Math.min(6_000_000, Math.round(width * height * framerate * 0.12));
  for (const { name: track, contentType, ...codec } of name === undefined ? Object.values(formats) : [formats[name]]) {
    const config = { ...codec, width, height, framerate, bitrate, latencyMode: 'realtime' };
    const { supported } = await VideoEncoder.isConfigSupported(config);
    if (!supported) continue;
    const recording = new Recording({ name: track, contentType }, config);
    recordings.set(id, recording);
    await recording.start();
    return { contentType };
  }
  return undefined;
}

export async function show(id, at, jpeg) {
  await recordings.get(id).show(at, jpeg);
  return recordings.get(id).take();
}

export async function write(id, at) {
  await recordings.get(id).write(at);
  return recordings.get(id).take();
}

export async function finish(id, at) {
  await recordings.get(id).finish(at);
  const parts = recordings.get(id).take();
  recordings.delete(id);
  return parts;
}

export async function cancel(id) {
  const recording = recordings.get(id);
  recordings.delete(id);
  await recording?.cancel();
}

class Recording {
  #canvas;
  #context;
  #encoder;
  #output;
  #parts = [];
  #muxing = Promise.resolve();
  #failure;
  #lastAt = -1;
  #lastKeyAt = -Infinity;

  constructor({ name, contentType }, config) {
    const { width, height } = config;
    this.#canvas = new OffscreenCanvas(width, height);
    this.#context = this.#canvas.getContext('2d', { alpha: false });
    const parts = this.#parts;
    const target = new StreamTarget(
      new WritableStream({
        write({ data, position }) {
          parts.push([position, toBase64(data)]);
        },
      }),
    );
    const format =
      contentType === 'video/mp4'
        ? new Mp4OutputFormat({ fastStart: 'fragmented', minimumFragmentDuration: 0 })
        : new WebMOutputFormat({ minimumClusterDuration: 0 });
    this.#output = new Output({ format, target });
    const track = new EncodedVideoPacketSource(name);
    this.#output.addVideoTrack(track);
    this.#encoder = new VideoEncoder({
      output: (chunk, metadata) => {
        this.#muxing = this.#muxing.then(() => track.add(EncodedPacket.fromEncodedChunk(chunk), metadata));
      },
      error: (error) => (this.#failure = error),
    });
    this.#encoder.configure(config);
  }

  async start() {
    await this.#output.start();
    await this.#encode(0);
  }

  /** Shows a JPEG image, in base64, from `at` seconds on. */
  async show(at, jpeg) {
    const image = await createImageBitmap(new Blob([fromBase64(jpeg)], { type: 'image/jpeg' }));
    const { width, height } = this.#canvas;
    const scale = Math.min(1, width / image.width, height / image.height);
    const [w, h] = [Math.round(image.width * scale), Math.round(image.height * scale)];
    if (w < width || h < height) this.#context.clearRect(0, 0, width, height);
    this.#context.drawImage(image, Math.floor((width - w) / 2), Math.floor((height - h) / 2), w, h);
    image.close();
    await this.#encode(at);
  }

  /** Writes everything up to `at` seconds: a frame until when the picture lasts, and a key frame, which ends the fragment. */
  async write(at) {
    await this.#encode(at);
    await this.#encode(at, true);
    await this.#flush();
  }

  async finish(at) {
    await this.#encode(Math.max(0, at - lastFrame));
    await this.#flush();
    await this.#output.finalize();
  }

  async cancel() {
    if (this.#encoder.state !== 'closed') this.#encoder.close();
    await this.#output.cancel();
  }

  /** The parts of the file that were written since it was last asked, each with its position. */
  take() {
    return this.#parts.splice(0);
  }

  async #encode(at, isKeyFrame = at - this.#lastKeyAt >= keyFrameInterval) {
    if (this.#failure) throw this.#failure;
    const time = Math.max(at, this.#lastAt + lastFrame);
    this.#lastAt = time;
    if (isKeyFrame) this.#lastKeyAt = time;
    const frame = new VideoFrame(this.#canvas, { timestamp: Math.round(time * 1e6), duration: lastFrame * 1e6 });
    this.#encoder.encode(frame, { keyFrame: isKeyFrame });
    frame.close();
    while (this.#encoder.encodeQueueSize > 1) await new Promise((resolve) => (this.#encoder.ondequeue = resolve));
  }

  async #flush() {
    await this.#encoder.flush();
    await this.#muxing;
  }
}

function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function toBase64(bytes) {
  let text = '';
  for (let start = 0; start < bytes.length; start += 0x8000) text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(text);
}
