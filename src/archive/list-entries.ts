import { ByteReader } from './byte-reader.ts';
import { nameSegments } from './entry-tree.ts';
import { Limits } from './limits.ts';
import { readTar } from './tar-entries.ts';

/**
 * The names of an archive's entries, as they are written there; nothing is kept of their content.
 * Throws an `ArchiveError` for an archive that is damaged, goes beyond the limits that `extract` has by default, or has an unsafe name;
 * the source's error, or the signal's reason.
 */
export async function listEntries(source: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<string[]> {
  const names: string[] = [];
  const limits = new Limits();
  const reader = new ByteReader(source, signal);
  try {
    await readTar(limits.tarIn(reader), ({ name, size }) => {
      limits.count(name, size);
      nameSegments(name);
      names.push(name);
      return undefined;
    });
    return names;
  } finally {
    reader.close();
  }
}
