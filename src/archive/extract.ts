import { mkdtemp, readdir, realpath, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { ByteReader } from './byte-reader.ts';
import { ArchiveError } from './errors.ts';
import { Extraction } from './extraction.ts';
import { Limits, type ExtractLimits } from './limits.ts';
import { ProgressCount, type Progress } from './progress.ts';
import { readTar } from './tar-entries.ts';

export type ExtractOptions = {
  /** Ends the extraction, which then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called at most ten times a second, and once at the end. */
  onProgress?: ((progress: Progress) => void) | undefined;
  limits?: ExtractLimits | undefined;
  /** Lets the archive take the place of what the directory contains. Default: false, and a directory that is not empty is refused. */
  replace?: boolean | undefined;
};

/**
 * Makes a user-data directory of an archive: of a tar, compressed with zstd in one frame or in many, or plain. The directory is there
 * as a whole or not at all: it is made beside its place, in the parent directory, which must exist, and then renamed.
 * What `pack` leaves out is left out here too. Times are restored; modes are, as far as the umask allows and without set-user-id bits; owners are not.
 *
 * Throws an `ArchiveError` for an archive that is damaged, or that holds what could be written or could point out of the directory;
 * the file system's error when something cannot be written; the source's error; or the signal's reason. Then nothing is left behind,
 * and the directory is as it was.
 */
export async function extract(source: AsyncIterable<Uint8Array>, directory: string, options: ExtractOptions = {}): Promise<void> {
  const { signal, replace = false } = options;
  const reader = new ByteReader(source, signal);
  try {
    signal?.throwIfAborted();
    const target = await unlessMissing(realpath(directory), path.resolve(directory));
    await refuseInUse(target, replace);
    const temporary = await mkdtemp(path.join(path.dirname(target), `.${path.basename(target)}-`));
    try {
      await extractInto(reader, temporary, options);
      signal?.throwIfAborted();
      await putInPlace(temporary, target, replace);
    } catch (error) {
      await rm(temporary, { recursive: true, force: true });
      throw error;
    }
  } finally {
    reader.close();
  }
}

async function extractInto(reader: ByteReader, directory: string, options: ExtractOptions): Promise<void> {
  const limits = new Limits(options.limits);
  const extraction = new Extraction(directory, limits, new ProgressCount(options.onProgress));
  try {
    await readTar(limits.tarIn(reader), (header) => extraction.add(header));
    await extraction.finish();
  } finally {
    await extraction.stopped();
  }
}

/** Throws `target_in_use` for a directory with something in it. Returns whether there is one at all. */
async function refuseInUse(directory: string, replace: boolean): Promise<boolean> {
  const names = await unlessMissing(readdir(directory), undefined);
  if (names === undefined) return false;
  if (names.length > 0 && !replace) {
    throw new ArchiveError('target_in_use', `${directory} is not empty: name another directory, or let it be replaced (replace: true)`);
  }
  return true;
}

async function putInPlace(temporary: string, target: string, replace: boolean): Promise<void> {
  if (!(await refuseInUse(target, replace))) return await rename(temporary, target);
  const old = `${temporary}-old`;
  await rename(target, old);
  try {
    await rename(temporary, target);
  } catch (error) {
    await rename(old, target);
    throw error;
  }
  // From here on the archive is in place: what cannot be deleted of the old directory does not change that.
  await rm(old, { recursive: true, force: true }).catch(() => {});
}

async function unlessMissing<T, U>(look: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await look;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return otherwise;
    throw error;
  }
}
