import { mkdtemp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperationError } from '../../contract/errors.ts';
import { builtFile } from '../built-file.ts';
import type { Clock } from '../clock.ts';
import { newId } from '../id.ts';
import { removeTree } from '../remove-tree.ts';
import { launchChromium, type Chromium, type ChromiumSettings } from './chromium.ts';
import { findChromium, type Environment } from './find-chromium.ts';

/** How a video is encoded: H.264 in fragmented MP4, VP9 or VP8 in WebM. */
export type VideoFormat = 'h264' | 'vp9' | 'vp8';

/** A video's size in pixels, both even, and the frames per second that it is made for. */
export type VideoSettings = { width: number; height: number; framerate: number };

/** A part of a video file and where it belongs there. Later parts can replace earlier ones. */
export type FilePart = { position: number; data: Buffer };

/** The Chromium is kept for the next recording for so long. */
const keptMs = 60_000;
const commandTimeoutMs = 30_000;
const loadTimeoutMs = 10_000;
/** Below that of the browsers under test: a recording must not slow them down. */
const niceness = 10;

/** Makes videos of images in a Chromium of its own, which all recordings share and which runs only while there are any. */
export class Encoder {
  readonly #directory: string;
  readonly #settings: ChromiumSettings;
  readonly #environment: Environment;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #open = new Set<string>();
  #running: Promise<EncoderPage> | undefined;
  /** Resolves when no Chromium is left that was told to end. */
  #ended: Promise<unknown> = Promise.resolve();
  #cancelEnd = () => {};

  /** Its Chromium has a directory of its own in `directory`. */
  constructor(options: { directory: string; chromium: ChromiumSettings; environment: Environment; clock: Clock }) {
    this.#directory = options.directory;
    this.#settings = options.chromium;
    this.#environment = options.environment;
    this.#clock = options.clock;
  }

  /** Begins a video. Throws `recording_failed` when no Chromium starts, or none that encodes. */
  async begin(settings: VideoSettings, format: VideoFormat | undefined): Promise<Video> {
    this.#cancelEnd();
    const id = newId();
    this.#open.add(id);
    try {
      const page = await (this.#running ??= this.#start());
      const opened = (await page.call('open', id, format, settings)) as { contentType: string } | undefined;
      if (!opened) throw new OperationError('recording_failed', `the encoder's browser cannot encode ${format ?? 'any known format'}`);
      return new Video(page, id, opened.contentType, () => this.#close(id));
    } catch (error) {
      this.#close(id);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#cancelEnd();
    this.#closing.abort(new OperationError('unavailable', 'the service is shutting down'));
    this.#end();
    await this.#ended;
  }

  #close(id: string): void {
    this.#open.delete(id);
    this.#cancelEnd();
    if (this.#open.size > 0) return;
    this.#cancelEnd = this.#clock.after(keptMs, () => this.#end());
  }

  /** The next recording gets another Chromium. */
  #end(): void {
    const ending = this.#running?.then(({ chromium }) => chromium.kill()).catch(() => {});
    this.#ended = Promise.all([this.#ended, ending]);
    this.#running = undefined;
  }

  #start(): Promise<EncoderPage> {
    const starting = this.#launch();
    const end = () => {
      if (this.#running === starting) this.#end();
    };
    starting.then(({ lost }) => lost).then(end, end);
    return starting;
  }

  async #launch(): Promise<EncoderPage> {
    const signal = this.#closing.signal;
    const [executable, userDataDirectory, script] = await Promise.all([
      findChromium(true, this.#settings.executable, this.#environment),
      mkdtemp(path.join(this.#directory, 'encoder-')),
      encoderScript(),
    ]);
    const chromium = await launchChromium({
      executable,
      userDataDirectory,
      headless: true,
      viewport: { width: 320, height: 240 },
      environment: this.#environment,
      signal,
      niceness,
      sandbox: this.#settings.sandbox,
    }).catch(async (error: unknown) => {
      await removeTree(userDataDirectory).catch(() => {});
      throw error;
    });
    void chromium.exited.then(() => removeTree(userDataDirectory)).catch(() => {});
    try {
      return await EncoderPage.load(chromium, script, signal);
    } catch (error) {
      await chromium.kill();
      throw error;
    }
  }
}

/** One video that is being made. Its parts must be written in the order in which they come. */
export class Video {
  readonly contentType: string;
  readonly #page: EncoderPage;
  readonly #id: string;
  readonly #close: () => void;

  constructor(page: EncoderPage, id: string, contentType: string, close: () => void) {
    this.#page = page;
    this.#id = id;
    this.contentType = contentType;
    this.#close = close;
  }

  /** Shows a JPEG image, in base64, from `at` seconds on. What is before the first image is black. */
  async show(at: number, jpeg: string): Promise<FilePart[]> {
    return fileParts(await this.#page.call('show', this.#id, at, jpeg));
  }

  /** Writes what is shown until `at` seconds, so that all of it is in the file. */
  async write(at: number): Promise<FilePart[]> {
    return fileParts(await this.#page.call('write', this.#id, at));
  }

  /** Ends the video at `at` seconds. */
  async finish(at: number): Promise<FilePart[]> {
    try {
      return fileParts(await this.#page.call('finish', this.#id, at));
    } finally {
      this.#close();
    }
  }

  /** Gives it up. */
  async cancel(): Promise<void> {
    this.#close();
    await this.#page.call('cancel', this.#id).catch(() => {});
  }
}

class EncoderPage {
  readonly chromium: Chromium;
  /** Resolves when it answers nothing any more. */
  readonly lost: Promise<void>;
  readonly #sessionId: string;
  readonly #objectId: string;
  #lose = () => {};

  private constructor(chromium: Chromium, sessionId: string, objectId: string) {
    this.chromium = chromium;
    this.#sessionId = sessionId;
    this.#objectId = objectId;
    this.lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
    void chromium.exited.then(this.#lose);
    chromium.cdp.onEvent(({ method }) => {
      if (method === 'Target.targetCrashed') this.#lose();
    });
  }

  static async load(chromium: Chromium, script: string, aborted: AbortSignal): Promise<EncoderPage> {
    const { cdp, wsEndpoint } = chromium;
    const signal = AbortSignal.any([aborted, AbortSignal.timeout(loadTimeoutMs)]);
    // Tells of a crash, too: a crashed page leaves everything unanswered.
    await cdp.send('Target.setDiscoverTargets', { discover: true, filter: [{ type: 'page' }, { exclude: true }] }, { signal });
    // Only a secure origin can encode. Chromium itself serves this one, so nothing reaches a network.
    const url = new URL('/json/version', wsEndpoint.replace(/^ws/, 'http')).href;
    const { targetId } = await cdp.send('Target.createTarget', { url }, { signal });
    const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true }, { signal });
    const evaluate = (expression: string, returnByValue: boolean) =>
      cdp.send('Runtime.evaluate', { expression, returnByValue }, { sessionId, signal });
    const isLoaded = async () => {
      const { result } = await evaluate(`isSecureContext && document.readyState === 'complete'`, true);
      return result.value === true;
    };
    while (!(await isLoaded())) await sleep(5, undefined, { signal });
    const { result, exceptionDetails } = await evaluate(script, false);
    if (result.objectId === undefined) throw new Error(`the encoder's script failed: ${exceptionDetails?.exception?.description}`);
    return new EncoderPage(chromium, sessionId, result.objectId);
  }

  async call(method: string, ...parameters: unknown[]): Promise<unknown> {
    const { result, exceptionDetails } = await this.chromium.cdp
      .send(
        'Runtime.callFunctionOn',
        {
          objectId: this.#objectId,
          functionDeclaration: 'function (method, ...parameters) { return this[method](...parameters); }',
          arguments: [method, ...parameters].map((value) => ({ value })),
          awaitPromise: true,
          returnByValue: true,
        },
        { sessionId: this.#sessionId, timeoutMs: commandTimeoutMs },
      )
      .catch((error: unknown) => {
        this.#lose();
        throw new OperationError('recording_failed', 'the encoder of recordings ended unexpectedly; the next recording gets a new one', {
          cause: error,
        });
      });
    if (exceptionDetails === undefined) return result.value;
    const reason = exceptionDetails.exception?.description ?? exceptionDetails.text;
    throw new OperationError('recording_failed', `the video could not be encoded: ${reason.split('\n', 1)[0]}`);
  }
}

function fileParts(value: unknown): FilePart[] {
  return (value as [position: number, base64: string][]).map(([position, base64]) => ({ position, data: Buffer.from(base64, 'base64') }));
}

async function encoderScript(): Promise<string> {
  return `${await readFile(builtFile('browsers/encoder/page.js'), 'utf8')};encoder`;
}
