import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ZipFile } from 'yazl';

/**
 * Packs an application for `deploy`: streams a zip archive of a directory, without `.git` and without links that lead out
 * of the directory. The stream fails if a file can't be read.
 */
export function packApplication(directory: string): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream.pipe(new PassThrough());
  zip.on('error', (error) => output.destroy(error));
  addFiles(zip, directory, '', output).then(
    () => zip.end(),
    (error: Error) => output.destroy(error),
  );
  return output;
}

/** Adds the files below a directory one after the other, so that only one file is open at a time. */
async function addFiles(zip: ZipFile, directory: string, below: string, output: Readable): Promise<void> {
  for (const entry of (await readdir(join(directory, below), { withFileTypes: true })).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    if (output.destroyed) return;
    const name = below + entry.name;
    if (entry.isDirectory() && entry.name !== '.git') await addFiles(zip, directory, `${name}/`, output);
    if (entry.isSymbolicLink()) await addLink(zip, directory, name);
    if (!entry.isFile()) continue;
    const { mode, mtime } = await lstat(join(directory, name));
    const file = createReadStream(join(directory, name));
    const close = () => file.destroy();
    output.once('close', close);
    zip.addReadStream(file, name, { mode, mtime });
    await finished(file);
    output.off('close', close);
  }
}

async function addLink(zip: ZipFile, directory: string, name: string): Promise<void> {
  const target = await readlink(join(directory, name));
  const place = await realpath(join(directory, name)).catch(() => undefined);
  const root = await realpath(directory);
  if (isAbsolute(target) || place === undefined || !place.startsWith(root + sep)) return;
  zip.addBuffer(Buffer.from(target), name, { mode: 0o120777 });
}
