import type { Readable, Writable } from 'node:stream';
import { OperationError } from '../../contract/errors.ts';
import { DriverFrames } from './driver-frames.ts';
import { playwrightHost } from './host-messages.ts';

type Created = { method: '__create__'; params: { type: string; guid: string; initializer?: { name?: string } } };
type Answer = { id: number; result?: unknown; error?: { error?: { message?: string } } };

/** The commands of Playwright's protocol that a host needs. Tried with 1.65.1. */
type Commands = {
  initialize: { params: { sdkLanguage: string; supportsLoneSurrogates: boolean }; result: unknown };
  connectOverCDP: {
    params: { endpointURL: string; isLocal: boolean; artifactsDir: string; timeout: number; slowMo?: number };
    result: { browser: { guid: string } };
  };
  startServer: { params: { title: string; host: string; port: number }; result: { endpoint: string } };
};

/** `slowMo`: the pause before each action, in ms. */
export type ClientOptions = { artifactsDirectory: string; slowMo?: number | undefined };

const answerTimeoutMs = 30_000;

/** Sends commands to Playwright's driver, which runs in another process. */
export class Driver {
  readonly #input: Writable;
  readonly #waiting = new Map<number, (answer: Answer | Error) => void>();
  #lastId = 0;
  #chromium = '';
  #broken: Error | undefined;

  /** `onBroken` is called if the driver breaks the protocol. */
  constructor(input: Writable, output: Readable, onBroken: () => void) {
    this.#input = input;
    const frames = new DriverFrames((message) => this.#receive(message as Answer | Created));
    output.on('data', (chunk: Buffer) => {
      try {
        frames.add(chunk);
      } catch (error) {
        this.close(error as Error);
        onBroken();
      }
    });
    for (const stream of [input, output]) stream.on('error', () => {});
  }

  /** Must be called first. */
  async initialize(): Promise<void> {
    await this.#send('', 'initialize', { sdkLanguage: 'javascript', supportsLoneSurrogates: true });
  }

  /** Connects to a browser over CDP. Returns the address at which clients of Playwright's protocol find it. */
  async publish(cdpUrl: string, { artifactsDirectory, slowMo }: ClientOptions): Promise<string> {
    const { browser } = await this.#send(this.#chromium, 'connectOverCDP', {
      endpointURL: cdpUrl,
      // Playwright would send uploads as messages to a browser on another machine.
      isLocal: true,
      artifactsDir: artifactsDirectory,
      ...(slowMo !== undefined && { slowMo }),
      // Playwright 1.61 requires it, and later versions ignore it.
      timeout: answerTimeoutMs,
    });
    const { endpoint } = await this.#send(browser.guid, 'startServer', {
      title: 'playwright-pool',
      host: '127.0.0.1',
      port: 0,
    });
    return endpoint;
  }

  /** Lets all open and later commands fail with `reason`. */
  close(reason: Error): void {
    this.#broken ??= reason;
    for (const answered of this.#waiting.values()) answered(reason);
  }

  async #send<C extends keyof Commands>(
    guid: string,
    method: C,
    params: Commands[C]['params'],
  ): Promise<Commands[C]['result']> {
    if (this.#broken) throw this.#broken;
    const id = ++this.#lastId;
    const metadata = { wallTime: Date.now(), internal: true };
    const answer = await new Promise<Answer | Error>((resolve) => {
      const late = `${playwrightHost} did not answer ${method} within ${answerTimeoutMs / 1000} s`;
      const timer = setTimeout(() => resolve(new OperationError('unavailable', late)), answerTimeoutMs);
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      this.#write({ id, guid, method, params, metadata });
    });
    this.#waiting.delete(id);
    if (answer instanceof Error) throw answer;
    const problem = answer.error?.error?.message;
    // Use the first line only: in the others Playwright logs the URL, which contains a secret.
    if (answer.error)
      throw new OperationError('unavailable', `${playwrightHost} failed: ${problem?.split('\n', 1)[0]}`);
    return answer.result;
  }

  #write(message: object): void {
    const body = Buffer.from(JSON.stringify(message));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(body.length);
    this.#input.write(Buffer.concat([length, body]));
  }

  #receive(message: Answer | Created): void {
    if ('id' in message) this.#waiting.get(message.id)?.(message);
    else if (message.params.type === 'BrowserType' && message.params.initializer?.name === 'chromium')
      this.#chromium = message.params.guid;
  }
}
