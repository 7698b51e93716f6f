import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { OperationError } from '../../contract/errors.ts';
import type { Upload } from '../files/upload.ts';

/** The limits of an extension: the bytes of its archive, of its files together, and of its manifest. */
const limits = { archive: 50 * 1024 ** 2, files: 256 * 1024 ** 2, manifest: 1024 ** 2 } as const;

/** Stores a received archive. Throws `payload_too_large` for a large one. Returns its host path. */
export async function receiveArchive(upload: Upload, file: Readable): Promise<string> {
  return await upload.receive(Readable.from(limited(file)));
}

/**
 * Extracts an archive into `destination`, a new directory in `root`. Throws `bad_request` if the archive isn't an
 * extension, and `payload_too_large`. Chromium checks the content of the manifest.
 */
export async function unpackExtension(
  upload: Upload,
  archive: string,
  { root, destination }: { root: string; destination: string },
): Promise<void> {
  // Loaded on first use, so that the service starts faster.
  const { extractZip } = await import('../files/extract-zip.ts');
  await extractZip(upload, archive, `/${destination}`, { mostBytes: limits.files });
  const manifest = await stat(path.join(root, destination, 'manifest.json')).catch(() => undefined);
  if (!manifest?.isFile())
    throw new OperationError(
      'bad_request',
      'the zip file has no manifest.json at its top: put the files of the extension into it, not their directory',
    );
  if (manifest.size > limits.manifest)
    throw new OperationError('payload_too_large', `manifest.json has ${manifest.size} bytes, at most 1 MiB is allowed`);
}

async function* limited(file: Readable): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of file) {
    size += (chunk as Buffer).length;
    if (size > limits.archive)
      throw new OperationError(
        'payload_too_large',
        'the zip file of an extension may have at most 50 MiB: leave out files that the extension does not need',
      );
    yield chunk as Buffer;
  }
}
