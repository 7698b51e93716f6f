// Runs in the encoder's page, after Mediabunny. Its value is what encoder.ts calls.
(() => {
  const { CanvasSource, Mp4OutputFormat, Output, StreamTarget, WebMOutputFormat, canEncodeVideo } = globalThis.Mediabunny;

  /** A moment without change after which what is there is written, in seconds: a recording that breaks off then lacks nothing. */
  const keyFrameInterval = 2;
  const fragmentDuration = 1;

  /** Each by the name that a setting gives it, in the order of preference. */
  const formats = {
    h264: { codec: 'avc', contentType: 'video/mp4' },
    vp9: { codec: 'vp9', contentType: 'video/webm' },
    vp8: { codec: 'vp8', contentType: 'video/webm' },
  };

  const recordings = new Map();

  class Recording {
    #canvas;
    #context;
    #output;
    #source;
    #written = [];
    /** Since when the canvas shows what it shows, in seconds from the start. */
    #shownAt = 0;

    constructor({ codec, contentType }, { width, height, framerate }) {
      this.contentType = contentType;
      this.#canvas = new OffscreenCanvas(width, height);
      this.#context = this.#canvas.getContext('2d', { alpha: false, desynchronized: true });
      const format =
        contentType === 'video/mp4'
          ? new Mp4OutputFormat({ fastStart: 'fragmented', minimumFragmentDuration: fragmentDuration })
          : new WebMOutputFormat({ minimumClusterDuration: fragmentDuration });
      const written = this.#written;
      const target = new StreamTarget(
        new WritableStream({
          write({ data, position }) {
            written.push([position, toBase64(data)]);
          },
        }),
      );
      this.#output = new Output({ format, target });
      this.#source = new CanvasSource(this.#canvas, {
        codec,
        bitrate: Math.min(6_000_000, Math.round(width * height * framerate * 0.12)),
        latencyMode: 'realtime',
        keyFrameInterval,
      });
      this.#output.addVideoTrack(this.#source);
    }

    async start() {
      await this.#output.start();
    }

    /** Shows a JPEG image, in base64, from `at` seconds on. */
    async show(at, jpeg) {
      const image = await createImageBitmap(new Blob([fromBase64(jpeg)], { type: 'image/jpeg' }));
      await this.write(at);
      const { width, height } = this.#canvas;
      const scale = Math.min(1, width / image.width, height / image.height);
      const [w, h] = [Math.round(image.width * scale), Math.round(image.height * scale)];
      if (w < width || h < height) this.#context.clearRect(0, 0, width, height);
      this.#context.drawImage(image, Math.floor((width - w) / 2), Math.floor((height - h) / 2), w, h);
      image.close();
    }

    /** Writes what was shown until `at`. With a key frame all that came before it reaches the file. */
    async write(at, keyFrame = false) {
      if (at <= this.#shownAt) return;
      await this.#source.add(this.#shownAt, at - this.#shownAt, { keyFrame });
      this.#shownAt = at;
    }

    async finish(at) {
      await this.write(at);
      await this.#output.finalize();
    }

    async cancel() {
      await this.#output.cancel();
    }

    /** The parts of the file that were written since it was last asked, each with its position. */
    take() {
      return this.#written.splice(0);
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

  return {
    /** Begins a recording in the format of the given name, or the best that this browser can encode; `undefined` where there is none. */
    async open(id, name, settings) {
      const { width, height } = settings;
      for (const format of name === undefined ? Object.values(formats) : [formats[name]]) {
        if (!(await canEncodeVideo(format.codec, { width, height }))) continue;
        const recording = new Recording(format, settings);
        recordings.set(id, recording);
        await recording.start();
        return { contentType: format.contentType };
      }
      return undefined;
    },

    async show(id, at, jpeg) {
      await recordings.get(id).show(at, jpeg);
      return recordings.get(id).take();
    },

    async write(id, at) {
      await recordings.get(id).write(at, true);
      return recordings.get(id).take();
    },

    async finish(id, at) {
      await recordings.get(id).finish(at);
      const parts = recordings.get(id).take();
      recordings.delete(id);
      return parts;
    },

    async cancel(id) {
      const recording = recordings.get(id);
      recordings.delete(id);
      await recording?.cancel();
    },
  };
})();
