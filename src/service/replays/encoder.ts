import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
import type { Chromium, ChromiumSettings } from '../chromium/chromium.ts';
import { findChromium } from '../chromium/find-chromium.ts';
import type { Environment } from '../chromium/playwright-builds.ts';
import { openSecurePage } from '../chromium/secure-page.ts';
import { Isolation } from '../chromium/isolation.ts';
import type { VideoFormat, VideoSettings } from './video.ts';
import { builtFile } from '../process/children/executables.ts';

/** Bytes to write at a position of the video file. They may replace earlier bytes. */
export type FilePart = { position: number; data: Buffer };

/** The encoder's Chromium ends after this time without a recording, in ms. */
const keptMs = 60_000;
const commandTimeoutMs = 30_000;
const loadTimeoutMs = 30_000;
/** A low priority for Chromium, so that recordings don't slow down the browsers under test. */
const niceness = 10;

type EncoderOptions = {
  directory: string;
  chromium: ChromiumSettings;
  /** Default: its Chromium runs as the service's user. */
  isolation?: Isolation;
  environment: Environment;
  clock: Clock;
};

/** Encodes the videos of all recordings, in a separate Chromium that starts when it is needed. */
export class Encoder {
  readonly #options: EncoderOptions;
  readonly #closing = new AbortController();
  readonly #open = new Set<string>();
  #running: Promise<EncoderPage> | undefined;
  /** Resolves when all killed Chromium processes are gone. */
  #ended: Promise<unknown> = Promise.resolve();
  /** Resolves when the users of all ended Chromium processes are free and their files are gone. */
  #left: Promise<unknown> = Promise.resolve();
  #cancelEnd = () => {};

  /** Chromium gets a new directory in `directory`. */
  constructor(options: EncoderOptions) {
    this.#options = options;
  }

  /** Begins a video. Throws `recording_failed` if Chromium doesn't start or can't encode the format. */
  async begin(settings: VideoSettings, format: VideoFormat | undefined): Promise<Video> {
    this.#cancelEnd();
    const id = newId();
    this.#open.add(id);
    try {
      const page = await (this.#running ??= this.#start());
      const opened = (await page.call('open', id, format, settings)) as { contentType: string } | undefined;
      if (!opened)
        throw new OperationError(
          'recording_failed',
          `the Chromium that encodes recordings cannot encode ${format ?? 'any known format'}: start the service with another --replay-format or --chromium`,
        );
      return new Video(page, id, opened.contentType, () => this.#close(id));
    } catch (error) {
      this.#close(id);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#cancelEnd();
    this.#closing.abort(
      new OperationError('unavailable', 'the service is shutting down: repeat the request when it runs again'),
    );
    this.#end();
    await this.#ended;
    await this.#left;
  }

  #close(id: string): void {
    this.#open.delete(id);
    this.#cancelEnd();
    if (this.#open.size === 0) this.#cancelEnd = this.#options.clock.after(keptMs, () => this.#end());
  }

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
    const { signal } = this.#closing;
    const { directory, chromium: settings, environment } = this.#options;
    const { isolation = new Isolation(undefined, directory) } = this.#options;
    const [executable, own, script] = await Promise.all([
      findChromium(true, settings.executable, environment),
      mkdtemp(path.join(directory, 'encoder-')),
      encoderScript(),
    ]);
    const isolatedUser = await isolation.createUser(own);
    const leave = () => (isolatedUser ? isolatedUser.release() : removeTree(own)).catch(() => {});
    const userDataDirectory = path.join(own, 'user-data');
    await mkdir(userDataDirectory, { mode: 0o700 });
    await isolatedUser?.own(userDataDirectory);
    const launching = isolation.launch({
      executable,
      isolatedUser,
      userDataDirectory,
      headless: true,
      viewport: { width: 320, height: 240 },
      environment,
      signal,
      niceness,
      sandbox: settings.sandbox,
    });
    const chromium = await launching.catch(async (error: unknown) => {
      await leave();
      throw error;
    });
    this.#left = Promise.all([this.#left, chromium.exited.then(leave)]);
    try {
      return await EncoderPage.load(chromium, script, signal);
    } catch (error) {
      await chromium.kill();
      throw error;
    }
  }
}

/** A video that is being encoded. Write the returned parts to the file in their order. */
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

  /**
   * Shows a JPEG image, in base64, from `at` seconds on. Before the first image the video is white, like an empty page.
   */
  async show(at: number, jpeg: string): Promise<FilePart[]> {
    return fileParts(await this.#page.call('show', this.#id, at, jpeg));
  }

  /** Completes the file up to `at` seconds, so that it plays even if the recording ends here. */
  async write(at: number): Promise<FilePart[]> {
    return fileParts(await this.#page.call('write', this.#id, at));
  }

  async finish(at: number): Promise<FilePart[]> {
    try {
      return fileParts(await this.#page.call('finish', this.#id, at));
    } finally {
      this.#close();
    }
  }

  async cancel(): Promise<void> {
    this.#close();
    await this.#page.call('cancel', this.#id).catch(() => {});
  }
}

/** The page in Chromium that encodes. Calls the functions of `encoder.browser.ts` in it. */
class EncoderPage {
  readonly chromium: Chromium;
  /** Resolves when the page has crashed or Chromium has ended. */
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
    const { cdp } = chromium;
    const signal = AbortSignal.any([aborted, AbortSignal.timeout(loadTimeoutMs)]);
    // Lets Chromium report a crash of the page. A crashed page doesn't answer commands.
    await cdp.send(
      'Target.setDiscoverTargets',
      { discover: true, filter: [{ type: 'page' }, { exclude: true }] },
      { signal },
    );
    const { sessionId } = await openSecurePage(cdp, signal);
    const { result, exceptionDetails } = await cdp.send(
      'Runtime.evaluate',
      { expression: script },
      { sessionId, signal },
    );
    if (result.objectId === undefined)
      throw new Error(`the encoder's script failed: ${exceptionDetails?.exception?.description}`);
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
        throw new OperationError(
          'recording_failed',
          'the browser that encodes recordings ended unexpectedly: start the recording again, which starts a new one',
          {
            cause: error,
          },
        );
      });
    if (exceptionDetails === undefined) return result.value;
    const reason = exceptionDetails.exception?.description ?? exceptionDetails.text;
    throw new OperationError('recording_failed', `the video could not be encoded: ${reason.split('\n', 1)[0]}`);
  }
}

function fileParts(value: unknown): FilePart[] {
  return (value as [position: number, base64: string][]).map(([position, base64]) => ({
    position,
    data: Buffer.from(base64, 'base64'),
  }));
}

async function encoderScript(): Promise<string> {
  return `${await readFile(builtFile('replays/encoder.browser.js'), 'utf8')}\nencoder;`;
}
