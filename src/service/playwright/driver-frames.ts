/** The beginning of an answer. All other messages are events. */
const answerStart = Buffer.from('{"id":');
const creationStart = Buffer.from('{"guid":"","method":"__create__"');
const largestKept = 1024 * 1024;

/**
 * Splits the output of Playwright's driver into its messages. 4 bytes before each message have its length. Keeps answers
 * and messages about new objects. Skips all other events, which the service doesn't need.
 */
export class DriverFrames {
  readonly #onMessage: (message: unknown) => void;
  /** The received bytes of an incomplete message, with its length. */
  #head = Buffer.alloc(0);
  /** How many of the next bytes belong to a skipped message. */
  #skipped = 0;

  constructor(onMessage: (message: unknown) => void) {
    this.#onMessage = onMessage;
  }

  /** Throws for a message that is too long. */
  add(chunk: Buffer): void {
    const skipped = Math.min(this.#skipped, chunk.length);
    this.#skipped -= skipped;
    let rest = Buffer.concat([this.#head, chunk.subarray(skipped)]);
    while (rest.length >= 4) {
      const length = rest.readUInt32LE(0);
      const body = rest.subarray(4, 4 + length);
      const isKept = begins(body, answerStart) || begins(body, creationStart);
      if (isKept && body.length < Math.min(length, creationStart.length)) break;
      if (isKept && length > largestKept)
        throw new Error(`the driver sent a message of ${length} bytes: the limit is ${largestKept}`);
      if (isKept && body.length < length) break;
      if (isKept) this.#onMessage(JSON.parse(body.toString()));
      else this.#skipped = length - body.length;
      rest = rest.subarray(4 + body.length);
    }
    this.#head = rest;
  }
}

/** Whether the message begins like this. Also true while too few bytes have arrived to know it. */
function begins(body: Buffer, start: Buffer): boolean {
  const known = Math.min(body.length, start.length);
  return body.compare(start, 0, known, 0, known) === 0;
}
