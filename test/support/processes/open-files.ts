import { readdir, readlink } from 'node:fs/promises';

/** The files that this process has open within a directory. Linux only. */
export async function openFilesIn(directory: string): Promise<string[]> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')),
  );
  return links.filter((file) => file.startsWith(directory));
}
