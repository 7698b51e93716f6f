import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Bytes } from '../client/index.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { inBytes, withProgress } from './progress.ts';

/** The file to write for `--output`: `output` itself, or `name` in it if it is a directory or ends in "/". */
export async function fileAt(output: string, name: string): Promise<string> {
  const isDirectory = /[/\\]$/.test(output) || (await stat(output).catch(() => undefined))?.isDirectory();
  return resolve(isDirectory ? join(output, name) : output);
}

/**
 * Writes an answer into a file, which appears when it is complete. Only its owner can read it. Also writes into a pipe or
 * device. Returns the size in bytes.
 */
export async function saveBytes(
  { stream, size }: Pick<Bytes, 'stream' | 'size'>,
  file: string,
  title: string,
  signal: AbortSignal,
): Promise<number> {
  let temporary: string | undefined;
  try {
    const there = await stat(file).catch(() => undefined);
    const isReplaced = there === undefined || there.isFile();
    const target = there?.isFile() ? await realpath(file) : file;
    let part = target;
    if (isReplaced) {
      await mkdir(dirname(target), { recursive: true });
      temporary = await mkdtemp(join(dirname(target), `.${basename(target)}-`));
      part = join(temporary, 'part');
    }
    let written = 0;
    await withProgress(title, async (show) => {
      async function* counted(source: AsyncIterable<Buffer>) {
        for await (const chunk of source) {
          written += chunk.length;
          show(inBytes(written), size ? Math.min(1, written / size) : undefined);
          yield chunk;
        }
      }
      await pipeline(stream, counted, createWriteStream(part, { mode: 0o600 }), { signal });
    });
    signal.throwIfAborted();
    if (isReplaced) await rename(part, target);
    return written;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    const advice = 'make room there, or name another place with --output';
    throw new CommandError(`${file} cannot be written (ENOSPC): ${advice}`, exitCodes.failed, { cause: error });
  } finally {
    stream.destroy();
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
  }
}
