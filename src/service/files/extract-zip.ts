import { realpath, symlink } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { openPromise, type Entry, type ZipFile } from 'yauzl';
import { OperationError } from '../../contract/errors.ts';
import { pathSegments } from '../sessions/confined-path.ts';
import { firstOverlap, type Placement, type Upload } from './upload.ts';

/** The limit for the extracted size: the larger of this many bytes and this many times the size of the archive. */
const allowedBytes = 64 * 1024 * 1024;
const allowedGrowth = 200;
const mostEntries = 100_000;
/** The longest path of Linux, in bytes. */
const longestTarget = 4096;

type Placed = { entry: Entry; sessionPath: string };
type Contents = { files: Placed[]; directories: string[]; links: Placed[] };

type ExtractOptions = {
  /** The real path of the root, if the archive may have links. No process may change the root meanwhile. */
  links?: string;
  /** The limit for the extracted size. Default: depends on the size of the archive. */
  mostBytes?: number;
};

/**
 * Extracts a received zip archive into a directory of the session, and creates the directory if it is missing. Extracts
 * everything or nothing, unless a link leads out of the root. Throws `bad_request` for an invalid archive and
 * `payload_too_large` for one that exceeds the limits.
 */
export async function extractZip(
  upload: Upload,
  archive: string,
  destination: string,
  { links: root, mostBytes }: ExtractOptions = {},
): Promise<void> {
  const zip = await openPromise(archive, { autoClose: false, strictFileNames: true }).catch(invalid);
  try {
    const { files, directories, links } = await checkedContents(zip, destination, {
      mayLink: root !== undefined,
      mostBytes: mostBytes ?? Math.max(allowedBytes, allowedGrowth * zip.fileSize),
    });
    const placements: Placement[] = [];
    for (const { entry, sessionPath } of files) {
      const mode = unixMode(entry) & 0o777;
      const stream = Readable.from(content(zip, entry));
      try {
        placements.push({ received: await upload.receive(stream, mode || 0o644), sessionPath });
      } finally {
        // After an error it is unread, and the archive would stay open.
        stream.destroy();
      }
    }
    await upload.place(placements, directories);
    if (root !== undefined) await makeLinks(zip, root, links);
  } finally {
    zip.close();
  }
}

async function checkedContents(
  zip: ZipFile,
  destination: string,
  { mayLink, mostBytes }: { mayLink: boolean; mostBytes: number },
): Promise<Contents> {
  if (zip.entryCount > mostEntries)
    throw new OperationError(
      'payload_too_large',
      `the zip file has more than ${mostEntries} entries: send several smaller zip files`,
    );
  const files: Contents['files'] = [];
  const links: Contents['links'] = [];
  const directories = [destination];
  let size = 0;
  try {
    for await (const entry of zip.eachEntry()) {
      refuseUnusual(entry, mayLink);
      const sessionPath = `${destination}/${entry.fileName}`;
      if (isLink(entry)) {
        links.push({ entry, sessionPath });
        directories.push(path.posix.dirname(sessionPath));
      } else if (entry.fileName.endsWith('/')) directories.push(sessionPath);
      else files.push({ entry, sessionPath });
      size += entry.uncompressedSize;
    }
    const names = [...files, ...links].map(({ entry }) => `/${entry.fileName}`);
    const contested = firstOverlap(
      names,
      directories.slice(1).map((directory) => directory.slice(destination.length)),
    );
    if (contested !== undefined)
      throw new Error(`two entries have the path ${contested.slice(1)}, or another entry needs it as its directory`);
  } catch (error) {
    invalid(error);
  }
  if (size > mostBytes) {
    throw new OperationError(
      'payload_too_large',
      `the zip file has ${zip.fileSize} bytes and would extract to ${size}, more than the allowed ${mostBytes}`,
    );
  }
  return { files, directories, links };
}

/** Makes relative links. Throws `bad_request` if one leads out of the root, which the caller then removes. */
async function makeLinks(zip: ZipFile, root: string, links: Placed[]): Promise<void> {
  const made = [];
  for (const { entry, sessionPath } of links) {
    const name = JSON.stringify(entry.fileName);
    if (entry.uncompressedSize > longestTarget) invalid(`the link ${name} has a target that is too long`);
    const target = await text(Readable.from(content(zip, entry)));
    const place = path.join(root, sessionPath);
    const isInside = isBelow(root, path.resolve(path.dirname(place), target)) && !path.isAbsolute(target);
    if (target === '' || target.includes('\0') || !isInside) invalid(`the link ${name} leads out of the archive`);
    await symlink(target, place);
    made.push({ name, place });
  }
  // A link may lead through others, so that its target is elsewhere than its text says. Links without a target may
  // stay.
  for (const { name, place } of made) {
    const target = await realpath(place).catch(() => root);
    if (!isBelow(root, target)) invalid(`the link ${name} leads out of the archive`);
  }
}

function isBelow(root: string, place: string): boolean {
  return place === root || place.startsWith(root + path.sep);
}

function refuseUnusual(entry: Entry, mayLink: boolean): void {
  const name = JSON.stringify(entry.fileName);
  if (entry.isEncrypted()) throw new Error(`${name} is encrypted`);
  if (!entry.canDecodeFileData())
    throw new Error(`${name} has the unknown compression method ${entry.compressionMethod}`);
  const type = unixMode(entry) & 0o170000;
  if (isLink(entry) && !mayLink) throw new Error(`${name} is a link, which is not allowed here`);
  if (!isLink(entry) && type !== 0 && type !== 0o100000 && type !== 0o040000)
    throw new Error(`${name} is neither a file nor a directory`);
  if (pathSegments(`/${entry.fileName}`).length === 0 && !entry.fileName.endsWith('/'))
    throw new Error(`${name} is not a valid file name`);
}

/** The bytes of an entry. The library checks their number, but not their checksum. */
async function* content(zip: ZipFile, entry: Entry): AsyncGenerator<Buffer> {
  try {
    let checksum = 0;
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      checksum = crc32(chunk as Buffer, checksum);
      yield chunk as Buffer;
    }
    if (checksum !== entry.crc32) throw new Error(`the checksum of ${JSON.stringify(entry.fileName)} is wrong`);
  } catch (error) {
    invalid(error);
  }
}

function isLink(entry: Entry): boolean {
  return (unixMode(entry) & 0o170000) === 0o120000;
}

/** Type and permission bits as in `st_mode`; 0 in archives from other systems than Unix. */
function unixMode(entry: Entry): number {
  return entry.externalFileAttributes >>> 16;
}

function invalid(error: unknown): never {
  throw new OperationError(
    'bad_request',
    `invalid zip file: ${error instanceof Error ? error.message : String(error)}`,
  );
}
