import { constants, type Stats } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { addAbortSignal, PassThrough, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { OperationError } from '../../contract/errors.ts';
import { errorCode } from '../process/system-error.ts';
import { withEntry } from '../sessions/confined-path.ts';
import { atEntry, fileError } from './file-errors.ts';
import { normalPath, SessionFiles, statsOrMissing } from './files.ts';
import { isUpload } from './receive.ts';

/** The oldest time that an archive can hold. */
const oldest = Date.UTC(1980, 0, 2);

/**
 * Larger files, in bytes, get the zip64 format, because the other one ends at 4 GiB. The margin is for files that grow
 * meanwhile.
 */
const largeFile = 1024 * 1024 * 1024;

/** The most files that are open at once. The system limits the open files of the whole service. */
const openAtOnce = 64;

/** Fast rather than small: archives rarely travel far, and most large files are compressed already. */
const compressionLevel = 1;

/**
 * Packs the directories and regular files of a directory into a zip archive while the archive is read. Skips links.
 * Read the stream to its end or destroy it. The stream fails if a file can't be read. Throws `not_found`,
 * `bad_request`, and `forbidden` for an unreadable file.
 */
export async function packZip(root: string, directory: string): Promise<Readable> {
  const stats = await atEntry(root, directory, { followLink: true, missing: 'path' }, (entry) => lstat(entry));
  if (!stats.isDirectory())
    throw new OperationError('bad_request', `path is not a directory: ${JSON.stringify(directory)}`);
  for await (const _ of entries(root, normalPath(directory))) {
    // Throws for an unreadable file while the service can still answer with an error.
  }
  const zip = new ZipFile();
  const output = zip.outputStream.pipe(new PassThrough());
  const left = new AbortController();
  output.once('close', () => left.abort());
  zip.on('error', (error) => output.destroy(error));
  addEntries(zip, root, normalPath(directory), left.signal).then(
    () => zip.end(),
    (error: Error) => output.destroy(error),
  );
  return output;
}

/** Adds an entry when the one before was read, so that one file is open at a time. */
async function addEntries(zip: ZipFile, root: string, directory: string, signal: AbortSignal): Promise<void> {
  const files = new SessionFiles(root);
  for await (const { name, sessionPath, stats } of entries(root, directory)) {
    signal.throwIfAborted();
    const attributes = { mtime: new Date(Math.max(stats.mtimeMs, oldest)), mode: stats.mode };
    if (stats.isDirectory()) {
      zip.addEmptyDirectory(name, attributes);
      continue;
    }
    const file = await files.read(sessionPath).catch(ifGone);
    if (!file) continue;
    zip.addReadStream(addAbortSignal(signal, file.stream), name, {
      ...attributes,
      compressionLevel,
      forceZip64Format: file.size >= largeFile,
    });
    await finished(file.stream);
  }
}

type ZipEntry = { name: string; sessionPath: string; stats: Stats };

async function* entries(root: string, directory: string, below = ''): AsyncGenerator<ZipEntry> {
  const read = withEntry(root, `${directory}/${below}x`, {}, (_, opened) => entriesIn(opened));
  for (const { name, stats } of await read.catch((error: unknown) => orNone(error, `${directory}/${below}`))) {
    const inZip = zipName(below + name);
    const sessionPath = `${directory}/${below}${name}`;
    if (stats?.isDirectory()) {
      yield { name: `${inZip}/`, sessionPath, stats };
      yield* entries(root, directory, `${below}${name}/`);
    } else if (stats?.isFile()) {
      yield { name: inZip, sessionPath, stats };
    }
  }
}

async function entriesIn(directory: string): Promise<{ name: string; stats: Stats | undefined }[]> {
  const names = (await readdir(directory)).filter((name) => !isUpload(name)).toSorted();
  const found: { name: string; stats: Stats | undefined }[] = [];
  for (let start = 0; start < names.length; start += openAtOnce) {
    const some = names.slice(start, start + openAtOnce);
    found.push(
      ...(await Promise.all(some.map(async (name) => ({ name, stats: await readableStats(`${directory}/${name}`) })))),
    );
  }
  return found;
}

/** A name that Windows doesn't read as a path with a drive or with backslashes. */
function zipName(name: string): string {
  const slashed = name.replaceAll('\\', '_');
  return /^[a-zA-Z]:/.test(slashed) ? `./${slashed}` : slashed;
}

/** Ignores that the file vanished or changed type meanwhile. */
function ifGone(error: unknown): undefined {
  if (!(error instanceof OperationError && ['not_found', 'bad_request'].includes(error.code))) throw error;
}

/** Throws for a file that can't be read, unless it was deleted meanwhile. */
async function readableStats(entry: string): Promise<Stats | undefined> {
  const stats = await statsOrMissing(entry);
  if (!stats?.isFile()) return stats;
  try {
    await (await open(entry, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)).close();
    return stats;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Ignores that the directory vanished or changed type meanwhile. */
function orNone(error: unknown, directory: string): [] {
  if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return [];
  throw fileError(error, directory, { missing: 'directory' });
}
