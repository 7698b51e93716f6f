import { createReadStream } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { ArchiveError, extract } from '../archive/index.ts';
import type { Bytes, Client } from '../client/index.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { connected, type ConnectionOptions } from './connection.ts';
import { inBytes, withProgress } from './progress.ts';
import { fileAt, saveBytes } from './save-bytes.ts';
import { printResult } from './service-command.ts';
import { counted } from './terminal.ts';

export type DownloadOptions = ConnectionOptions & { output: string; format: 'tar.zst' | 'tar'; json?: boolean };
type Extracted = { bytes: number; entries: number };
export type UnpackOptions = { output: string; force?: boolean; json?: boolean };

/** Downloads a profile into a file, which appears when it is complete. */
export async function download(
  name: string,
  options: DownloadOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const { output, format } = options;
  const file = await fileAt(output, `${name}.${format}`);
  const bytes = await connected(options, env, signal, async (client) => {
    const archive = await downloaded(client, name, format, signal);
    return await saveBytes(archive, file, `Downloading ${name}`, signal);
  });
  printResult(options, { file, bytes }, `Wrote ${file} (${inBytes(bytes)}).`);
}

/** The archive of a profile. Throws with the exit code `nothingThere` if nothing was saved yet. */
export async function downloaded(
  client: Client,
  name: string,
  format: 'tar.zst' | 'tar',
  signal: AbortSignal,
): Promise<Bytes> {
  const archive = await client.profiles.download(name, { format }, { signal });
  if (archive) return archive;
  throw new CommandError(
    `nothing was saved in the profile ${name} yet: run tests with poolProfile: { name: '${name}', save: true }, or end a session that has it with save_changes`,
    exitCodes.nothingThere,
  );
}

/** Extracts an archive into a user-data directory, which appears when it is complete. */
export async function unpack(file: string, options: UnpackOptions, signal: AbortSignal): Promise<void> {
  const { output, force = false } = options;
  const directory = resolve(output);
  // Don't replace a directory that was mistyped.
  if (force && !(await mayHoldUserData(directory))) {
    const problem = 'has other files than a user-data directory, so --force does not replace it';
    throw new CommandError(`${directory} ${problem}. Name another directory`);
  }
  await mkdir(dirname(directory), { recursive: true });
  try {
    const extracted = await extractFile(file, directory, signal, force);
    printResult(options, { directory, ...extracted }, `Unpacked ${inEntries(extracted)} to ${directory}.`);
  } catch (error) {
    if (!(error instanceof ArchiveError && error.code === 'target_in_use')) throw error;
    const advice = 'name another directory, or replace its content with --force';
    throw new CommandError(`${directory} is not empty: ${advice}`, exitCodes.failed, { cause: error });
  }
}

/** Extracts an archive file and shows the progress. */
export async function extractFile(
  file: string,
  directory: string,
  signal: AbortSignal,
  replace = false,
): Promise<Extracted> {
  const { size } = await archiveAt(file);
  let extracted: Extracted = { bytes: 0, entries: 0 };
  await withProgress(`Unpacking ${basename(file)}`, async (show) => {
    let read = 0;
    async function* readFile() {
      for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
        read += chunk.length;
        yield chunk;
      }
    }
    const onProgress = (now: Extracted) => {
      extracted = now;
      show(inEntries(now), Math.min(1, read / size));
    };
    try {
      await extract(readFile(), directory, { signal, replace, onProgress });
    } catch (error) {
      if (!(error instanceof ArchiveError) || error.code === 'target_in_use') throw error;
      throw new CommandError(`${file} cannot be unpacked: ${error.message}`, exitCodes.failed, { cause: error });
    }
  });
  return extracted;
}

/** The size of an archive for people: `2 entries, 1.5 MB`. */
export function inEntries({ bytes, entries }: Extracted): string {
  return `${counted(entries, 'entry', 'entries')}, ${inBytes(bytes)}`;
}

/** Whether a directory is a user-data directory of Chromium, or is empty or missing. */
export async function mayHoldUserData(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch((): string[] => []);
  return names.length === 0 || names.includes('Default') || names.includes('Local State');
}

async function archiveAt(file: string): Promise<{ size: number }> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${file} cannot be read (${error.code}): check its path`, exitCodes.failed, {
      cause: error,
    });
  });
  if (found.isFile()) return found;
  throw new CommandError(`${file} is not a file: name an archive`);
}
