import type { ProcessEvent } from '../../contract/processes.ts';
import type { Claim } from '../process/waiting-bytes.ts';

/** The queue counts as full from this size on, in bytes. */
const most = 1024 * 1024;
/** The most that one read of a pipe gives, in bytes. */
const nextRead = 64 * 1024;

type Output = { stream: 'stdout' | 'stderr'; data: Buffer };

/** Holds the output of a process until a caller reads it, and its exit code. */
export class OutputQueue {
  readonly #chunks: Output[] = [];
  readonly #waiting: Claim;
  readonly #onRoom: () => void;
  #size = 0;
  #exitCode: number | undefined;
  #reader: object | undefined;
  #wake = () => {};

  /** `waiting` counts the output. `onRoom` is called when output was taken and the queue isn't full. */
  constructor(waiting: Claim, onRoom: () => void) {
    this.#waiting = waiting;
    this.#onRoom = onRoom;
  }

  /** Without room in a budget, a queue with any output is full. An empty one never is, so that a reader goes on. */
  get isFull(): boolean {
    return this.#size >= most || (this.#size > 0 && !this.#waiting.fits(nextRead));
  }

  add(output: Output): void {
    this.#waiting.add(output.data.length);
    this.#chunks.push(output);
    this.#size += output.data.length;
    this.#wake();
  }

  /** Drops the output. Call when nobody can read it any more. */
  drop(): void {
    this.#chunks.length = 0;
  }

  /** Call when the process has ended. Add nothing after that. */
  end(exitCode: number): void {
    this.#exitCode = exitCode;
    this.#wake();
  }

  /**
   * Takes the output out of the queue, and gives the exit code last. Ends early if another reader begins or `signal`
   * aborts.
   */
  async *read(signal: AbortSignal): AsyncGenerator<ProcessEvent> {
    const reader = {};
    this.#reader = reader;
    this.#wake();
    const wake = () => this.#wake();
    signal.addEventListener('abort', wake);
    try {
      while (this.#reader === reader && !signal.aborted) {
        const next = this.#take();
        if (next) yield { stream: next.stream, data_b64: next.data.toString('base64') };
        else if (this.#exitCode === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
        else {
          yield { event: 'exit', exit_code: this.#exitCode };
          break;
        }
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  #take(): Output | undefined {
    const next = this.#chunks.shift();
    if (!next) return undefined;
    this.#size -= next.data.length;
    this.#waiting.release(next.data.length);
    if (!this.isFull) this.#onRoom();
    return next;
  }
}
