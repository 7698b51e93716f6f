import { setImmediate } from 'node:timers/promises';
import { OperationError } from '../../contract/errors.ts';
import type { ProcessResult } from '../../contract/processes.ts';
import { JsonText } from '../http/handler.ts';
import { uncounted, type Claim } from '../process/waiting-bytes.ts';
import { finished, type Running } from './running.ts';

/** The most output of a program that is kept until its end, in bytes. */
const most = 16 * 1024 * 1024;
/** The size of a block in bytes. Three bytes become four characters of base64, so blocks can be encoded one by one. */
const blockSize = 3 * 16 * 1024;
/** So many blocks are encoded before other work gets a turn. */
const blocksAtOnce = 8;

export type CollectedOutput = { stdout: KeptBytes; stderr: KeptBytes };

/**
 * Collects the output of a program until it ends. Calls `end` for a program that writes more than 16 MiB or more than a
 * budget allows; then it throws `payload_too_large` or `OverBudget` after the program's end.
 */
export async function collectOutput(
  program: Running,
  { waiting, end }: { waiting: Claim; end: () => void },
): Promise<CollectedOutput> {
  const kept = { stdout: new KeptBytes(waiting), stderr: new KeptBytes(waiting) };
  let failure: OperationError | undefined;
  const fail = (error: OperationError) => {
    failure ??= error;
    for (const bytes of Object.values(kept)) bytes.drop();
    end();
  };
  waiting.onRefused = fail;
  for (const name of ['stdout', 'stderr'] as const) {
    program.outputs[name]?.on('data', (data: Buffer) => {
      if (failure) return;
      try {
        if (kept.stdout.size + kept.stderr.size + data.length > most) throw tooLong();
        kept[name].add(data);
      } catch (error) {
        fail(error as OperationError);
      }
    });
  }
  await finished(program);
  waiting.onRefused = undefined;
  if (failure) throw failure;
  return kept;
}

/** The answer of `exec`. Long output is encoded while it is sent. */
export function execAnswer(
  { stdout, stderr }: CollectedOutput,
  { exit_code, duration_ms }: Pick<ProcessResult, 'exit_code' | 'duration_ms'>,
): ProcessResult | JsonText {
  if (stdout.size + stderr.size <= uncounted)
    return { exit_code, stdout_b64: stdout.toString('base64'), stderr_b64: stderr.toString('base64'), duration_ms };
  const [begin, between, end] = [
    `{"exit_code":${exit_code},"stdout_b64":"`,
    '","stderr_b64":"',
    `","duration_ms":${duration_ms}}`,
  ];
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(begin);
    yield* stdout.base64();
    yield Buffer.from(between);
    yield* stderr.base64();
    yield Buffer.from(end);
  }
  const size = begin.length + stdout.base64Length + between.length + stderr.base64Length + end.length;
  return new JsonText(size, pieces());
}

/** Bytes in blocks of one size, so that many short pieces take no more memory than their bytes. */
export class KeptBytes {
  readonly #waiting: Claim;
  readonly #blocks: Buffer[] = [];
  #size = 0;

  constructor(waiting: Claim) {
    this.#waiting = waiting;
  }

  get size(): number {
    return this.#size;
  }

  /** Throws `OverBudget`. */
  add(data: Buffer): void {
    this.#waiting.take(data.length);
    for (let rest = data; rest.length > 0;) {
      const used = this.#size % blockSize;
      if (used === 0) this.#blocks.push(Buffer.allocUnsafeSlow(blockSize));
      const count = rest.copy(this.#blocks.at(-1)!, used);
      this.#size += count;
      rest = rest.subarray(count);
    }
  }

  drop(): void {
    this.#waiting.release(this.#size);
    this.#blocks.length = 0;
    this.#size = 0;
  }

  toString(encoding: BufferEncoding): string {
    return Buffer.concat(this.#blocks, this.#size).toString(encoding);
  }

  /** The bytes as base64, block by block. Each block is dropped when the next one is asked for. */
  async *base64(): AsyncGenerator<Buffer> {
    let left = this.#size;
    for (let count = 1; left > 0; count += 1) {
      const block = this.#blocks.shift()!.subarray(0, left);
      left -= block.length;
      yield Buffer.from(block.toString('base64'), 'latin1');
      this.#size -= block.length;
      this.#waiting.release(block.length);
      if (count % blocksAtOnce === 0) await setImmediate();
    }
  }

  /** The number of characters of the bytes as base64. */
  get base64Length(): number {
    return Math.ceil(this.#size / 3) * 4;
  }
}

function tooLong(): OperationError {
  const advice = 'let it write to a file, or start it with spawn and read its stream';
  return new OperationError(
    'payload_too_large',
    `the process wrote more than 16 MiB of output and was ended: ${advice}`,
  );
}
