import { mkdtemp, readdir, realpath, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { ByteReader } from './byte-reader.ts';
import { ArchiveError } from './errors.ts';
import { Extraction } from './extraction.ts';
import { Limits, type ExtractLimits } from './limits.ts';
import { ProgressCount, type Progress } from './progress.ts';
import { readTar } from './tar-entries.ts';

export type ExtractOptions = {
  /** Aborts the extraction, which then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called at most ten times a second, and once at the end. */
  onProgress?: ((progress: Progress) => void) | undefined;
  limits?: ExtractLimits | undefined;
  /** Replaces the content of the directory. Default: false, which refuses a directory that isn't empty. */
  replace?: boolean | undefined;
  /** Extracts only the entries whose names match. Default: all. */
  only?: RegExp | undefined;
};

/**
 * Extracts a user-data directory from a tar, plain or compressed with zstd. The directory appears complete or not at
 * all: it is created beside its place, in the parent directory, which must exist, and then renamed. Skips the entries
 * that `pack` skips. Restores times, and modes as far as the umask allows and without set-user-id bits, but no owners.
 *
 * Throws an `ArchiveError` for an archive that is damaged or leads out of the directory, the file system's error, the
 * source's error, or the signal's reason. Then it leaves nothing behind, and the directory is unchanged.
 */
export async function extract(
  source: AsyncIterable<Uint8Array>,
  directory: string,
  options: ExtractOptions = {},
): Promise<void> {
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
  const extraction = new Extraction(directory, limits, new ProgressCount(options.onProgress), options.only);
  try {
    await readTar(limits.tarIn(reader), (header) => extraction.add(header));
    await extraction.finish();
  } finally {
    await extraction.stopped();
  }
}

/** Returns whether the directory exists. Throws `target_in_use` if it isn't empty and may not be replaced. */
async function refuseInUse(directory: string, replace: boolean): Promise<boolean> {
  const names = await unlessMissing(readdir(directory), undefined);
  if (names === undefined) return false;
  if (names.length > 0 && !replace) {
    throw new ArchiveError(
      'target_in_use',
      `${directory} is not empty: name another directory, or pass replace: true to replace it`,
    );
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
  // The new content is in place. Ignore it if the old directory can't be deleted.
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
