import { OperationError } from '../../contract/errors.ts';
import type { ProcessResult } from '../../contract/processes.ts';
import { JsonText } from '../http/handler.ts';
import { uncounted, type Claim } from '../process/waiting-bytes.ts';
import { KeptBytes } from './kept-bytes.ts';
import { finished, type Running } from './running.ts';

/** The most output of a program that is kept until its end, in bytes. */
const most = 16 * 1024 * 1024;

export type CollectedOutput = { stdout: KeptBytes; stderr: KeptBytes };

/**
 * Collects the output of a program until it ends, long output in files in `directory`. Calls `end` for a program that
 * writes more than 16 MiB or more than a budget allows; then it throws `payload_too_large` or `OverBudget` after the
 * program's end.
 */
export async function collectOutput(
  program: Running,
  { waiting, directory, end }: { waiting: Claim; directory: string; end: () => void },
): Promise<CollectedOutput> {
  const kept = { stdout: new KeptBytes(waiting, directory), stderr: new KeptBytes(waiting, directory) };
  const drop = () => Object.values(kept).forEach((bytes) => bytes.drop());
  let failure: Error | undefined;
  let moving: Promise<unknown> = Promise.resolve();
  const fail = (error: Error) => {
    if (failure) return;
    failure = error;
    drop();
    end();
  };
  waiting.onRefused = fail;
  waiting.onEnd = () => {
    failure ??= new OperationError('bad_request', 'the caller hung up before it had its answer');
    drop();
  };
  for (const name of ['stdout', 'stderr'] as const) {
    const output = program.outputs[name];
    output?.on('data', (data: Buffer) => {
      if (failure) return;
      try {
        if (kept.stdout.size + kept.stderr.size + data.length > most) throw tooLong();
        kept[name].add(data);
      } catch (error) {
        return fail(error as Error);
      }
      if (!kept[name].isFull) return;
      output.pause();
      // In turn: Node resumes the output of a program that has ended.
      const move = async () => kept[name].isFull && (await kept[name].moveToFile());
      moving = moving
        .then(move)
        .catch(fail)
        .finally(() => output.resume());
    });
  }
  const outputs = Object.values(program.outputs);
  await finished(program, () => outputs.some((output) => output.isPaused()));
  await moving;
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

function tooLong(): OperationError {
  const advice = 'let it write to a file, or start it with spawn and read its stream';
  return new OperationError(
    'payload_too_large',
    `the process wrote more than 16 MiB of output and was ended: ${advice}`,
  );
}
