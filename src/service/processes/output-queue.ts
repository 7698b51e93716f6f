import type { ProcessEvent } from '../../contract/processes.ts';

/** The queue counts as full from this size on, in bytes. */
const most = 1024 * 1024;

type Output = { stream: 'stdout' | 'stderr'; data: Buffer };

/** Holds the output of a process until a caller reads it, and its exit code. */
export class OutputQueue {
  readonly #chunks: Output[] = [];
  readonly #onRoom: () => void;
  #size = 0;
  #exitCode: number | undefined;
  #reader: object | undefined;
  #wake = () => {};

  /** `onRoom` is called when the queue is no longer full. */
  constructor(onRoom: () => void) {
    this.#onRoom = onRoom;
  }

  get isFull(): boolean {
    return this.#size >= most;
  }

  add(output: Output): void {
    this.#chunks.push(output);
    this.#size += output.data.length;
    this.#wake();
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
    const wasFull = this.isFull;
    const next = this.#chunks.shift();
    this.#size -= next?.data.length ?? 0;
    if (wasFull && !this.isFull) this.#onRoom();
    return next;
  }
}
