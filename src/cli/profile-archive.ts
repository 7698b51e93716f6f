import { createReadStream } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { ArchiveError, extract } from '../archive/index.ts';
import type { Bytes, Client } from '../client/index.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { connected, type ConnectionOptions } from './connection.ts';
import { inBytes, withProgress } from './progress.ts';
import { fileAt, saveBytes } from './save-bytes.ts';
import { printJSON } from './table.ts';

export type DownloadOptions = ConnectionOptions & { output: string; format: 'tar.zst' | 'tar'; json?: boolean };
export type UnpackOptions = { output: string; force?: boolean; json?: boolean };

/** Downloads a profile into a file, which is there as a whole or not at all. */
export async function download(name: string, options: DownloadOptions, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const { output, format, json } = options;
  const file = await fileAt(output, `${name}.${format}`);
  const bytes = await connected(options, env, signal, async (client) => {
    const archive = await downloaded(client, name, format, signal);
    return await saveBytes(archive, file, `Downloading ${name}`, signal);
  });
  if (json) printJSON({ file, bytes });
  else console.log(`Wrote ${file} (${inBytes(bytes)}).`);
}

/** The archive of a profile. Throws with an exit code of its own where nothing was saved yet. */
export async function downloaded(client: Client, name: string, format: 'tar.zst' | 'tar', signal: AbortSignal): Promise<Bytes> {
  const archive = await client.profiles.download(name, { format }, { signal });
  if (archive) return archive;
  throw new CommandError(
    `nothing was saved in the profile ${name} yet: run tests with profile: { name: '${name}', save: true }, or end a session that has it with save_changes`,
    exitCodes.nothingThere,
  );
}

/** Makes a user-data directory of an archive, which is there as a whole or not at all. */
export async function unpack(file: string, { output, force = false, json }: UnpackOptions, signal: AbortSignal): Promise<void> {
  const directory = resolve(output);
  // A mistyped directory must not be replaced.
  if (force && !(await mayHoldUserData(directory))) {
    throw new CommandError(
      `${directory} is not replaced, since it holds something else than a user-data directory: name another directory`,
    );
  }
  await mkdir(dirname(directory), { recursive: true });
  try {
    const { bytes, entries } = await extractFile(file, directory, signal, force);
    if (json) printJSON({ directory, bytes, entries });
    else console.log(`Unpacked ${entries} entries (${inBytes(bytes)}) to ${directory}.`);
  } catch (error) {
    if (!(error instanceof ArchiveError && error.code === 'target_in_use')) throw error;
    const advice = 'name another directory, or replace what is in it with --force';
    throw new CommandError(`${directory} is not empty: ${advice}`, exitCodes.failed, { cause: error });
  }
}

/** Extracts an archive file, shows how far that is, and returns what it was. */
export async function extractFile(
  file: string,
  directory: string,
  signal: AbortSignal,
  replace = false,
): Promise<{ bytes: number; entries: number }> {
  const { size } = await archiveAt(file);
  let extracted = { bytes: 0, entries: 0 };
  await withProgress(`Unpacking ${basename(file)}`, async (show) => {
    let read = 0;
    async function* counted() {
      for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
        read += chunk.length;
        yield chunk;
      }
    }
    const onProgress = (now: typeof extracted) => {
      extracted = now;
      show(`${now.entries} entries, ${inBytes(now.bytes)}`, Math.min(1, read / size));
    };
    try {
      await extract(counted(), directory, { signal, replace, onProgress });
    } catch (error) {
      if (!(error instanceof ArchiveError) || error.code === 'target_in_use') throw error;
      throw new CommandError(`${file} cannot be unpacked: ${error.message}`, exitCodes.failed, { cause: error });
    }
  });
  return extracted;
}

/** Whether a directory is one that Chromium has used, or is empty or missing. */
export async function mayHoldUserData(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch((): string[] => []);
  return names.length === 0 || names.includes('Default') || names.includes('Local State');
}

async function archiveAt(file: string): Promise<{ size: number }> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${file} cannot be read (${error.code}): check its path`, exitCodes.failed, { cause: error });
  });
  if (found.isFile()) return found;
  throw new CommandError(`${file} is not a file: name an archive`);
}
