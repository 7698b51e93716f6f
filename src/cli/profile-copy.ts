import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extract, pack } from '../archive/index.ts';
import { NotFoundError } from '../client/errors.ts';
import { errorCode, isDiskFull } from '../service/process/system-error.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { connected, type ConnectionOptions } from './connection.ts';
import { downloaded, extractFile, inEntries, mayHoldUserData } from './profile-archive.ts';
import { withProgress } from './progress.ts';

/**
 * Runs `use` on a temporary copy of a profile's user-data directory. `source` is a path if it contains `/` or ends in
 * `.tar` or `.tar.zst`. Otherwise it is the name or id of a profile of the service.
 */
export async function withCopy<T>(
  source: string,
  options: ConnectionOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  use: (userDataDirectory: string) => Promise<T>,
): Promise<T> {
  let temporary: string | undefined;
  try {
    temporary = await mkdtemp(join(tmpdir(), 'playwright-pool-profile-'));
    const copy = join(temporary, 'user-data');
    if (!/[/\\]|\.tar(\.zst)?$/.test(source)) await copyOfProfile(source, copy, options, env, signal);
    else if ((await stat(source).catch(() => undefined))?.isDirectory()) await copyOfDirectory(source, copy, signal);
    else await extractFile(source, copy, signal);
    if (!(await mayHoldUserData(copy))) throw notUserData(source);
    return await use(copy);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    const problem = `there is no room for a copy of ${source} in ${tmpdir()} (${errorCode(error)})`;
    throw new CommandError(`${problem}: make room there, or set TMPDIR to another directory`, exitCodes.failed, {
      cause: error,
    });
  } finally {
    // Chromium's last processes may still write files.
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function copyOfProfile(
  name: string,
  copy: string,
  options: ConnectionOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  try {
    await connected(options, env, signal, async (client) => {
      const { stream } = await downloaded(client, name, 'tar.zst', signal);
      try {
        await withProgress(`Downloading ${name}`, (show) =>
          extract(stream, copy, {
            signal,
            onProgress: (extracted) => show(inEntries(extracted)),
          }),
        );
      } finally {
        stream.destroy();
      }
    });
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    throw new CommandError(
      `${error.message}. For a file or directory of that name, write ./${name}`,
      exitCodes.failed,
      { cause: error },
    );
  }
}

/** Copies a user-data directory without its locks, with which Chromium would refuse the copy. */
async function copyOfDirectory(directory: string, copy: string, signal: AbortSignal): Promise<void> {
  // Check before copying, because a wrong directory may be large.
  if (!(await mayHoldUserData(directory))) throw notUserData(directory);
  await withProgress(`Copying ${directory}`, (show) =>
    extract(pack(directory, { signal, withoutCaches: true, compression: 'none' }), copy, {
      signal,
      onProgress: (extracted) => show(inEntries(extracted)),
    }),
  );
}

function notUserData(source: string): CommandError {
  return new CommandError(
    `${source} is not a user-data directory of Chromium: it contains neither "Default" nor "Local State"`,
  );
}
