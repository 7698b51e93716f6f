import { OperationError } from '../../../contract/errors.ts';
import type { Claim } from '../../process/waiting-bytes.ts';
import { idOf, sessionOf } from './cdp-frames.ts';

/** Playwright's clients take no larger message. In bytes. */
const largestMessage = 256 * 1024 * 1024;
/** So many bytes at both ends of a dropped message hold its id and its CDP session. */
const endSize = 256;

/**
 * A message of Chromium of which only the beginning has arrived. If it becomes too large for a budget, its bytes are
 * dropped, and an error takes the place of an answer.
 */
export class PartialMessage {
  /** Counts the bytes. Default: they aren't counted. */
  waiting: Claim | undefined;
  readonly #parts: Buffer[] = [];
  #size = 0;
  #dropped: { head: Buffer; tail: Buffer; reason: string } | undefined;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  add(part: Buffer): void {
    this.#size += part.length;
    if (this.#dropped) return this.#noteEnd(part);
    try {
      if (this.#size > largestMessage) throw new OperationError('payload_too_large', tooLarge);
      this.waiting?.take(part.length, { isOneMessage: true });
      this.#parts.push(part);
    } catch (error) {
      const head = Buffer.from(Buffer.concat([...this.#parts, part], endSize));
      this.#dropped = { head, tail: Buffer.alloc(0), reason: (error as Error).message };
      this.#parts.length = 0;
      this.waiting?.release(this.#size);
      this.#noteEnd(part);
    }
  }

  /** The whole message with its last part. `undefined` for an event that was dropped. */
  end(last: Buffer): Buffer | undefined {
    this.add(last);
    const dropped = this.#dropped;
    const whole = dropped ? errorFor(dropped) : Buffer.concat(this.#parts, this.#size);
    if (!dropped) this.waiting?.release(this.#size);
    this.#parts.length = 0;
    this.#size = 0;
    this.#dropped = undefined;
    return whole;
  }

  #noteEnd(part: Buffer): void {
    const dropped = this.#dropped!;
    dropped.tail = Buffer.from(Buffer.concat([dropped.tail, part.subarray(-endSize)]).subarray(-endSize));
  }
}

const tooLarge = `the browser's message has more than ${largestMessage / 1024 ** 2} MiB: ask for less at once`;

function errorFor({ head, tail, reason }: { head: Buffer; tail: Buffer; reason: string }): Buffer | undefined {
  const id = idOf(head);
  if (id === undefined) return undefined;
  const sessionId = sessionOf(tail);
  return Buffer.from(JSON.stringify({ id, error: { code: -32000, message: reason }, ...(sessionId && { sessionId }) }));
}
