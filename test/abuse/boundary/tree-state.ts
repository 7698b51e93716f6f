import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import path from 'node:path';

/** An entry below a directory. `content` is the text of a file, or the target of a link. */
export type TreeEntry = Pick<Stats, 'uid' | 'gid' | 'mode' | 'nlink'> & { name: string; content: string | undefined };

/** The directory itself, and all entries below it. */
export function stateOf(directory: string): TreeEntry[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted();
  return ['.', ...names].map((name) => {
    const place = path.join(directory, name);
    const stats = lstatSync(place);
    const { uid, gid, mode } = stats;
    const isFile = stats.isFile();
    const content = isFile ? readFileSync(place, 'latin1') : stats.isSymbolicLink() ? readlinkSync(place) : undefined;
    // The links of a directory are its subdirectories.
    return { name, uid, gid, mode, nlink: isFile ? stats.nlink : 1, content };
  });
}
