import path from 'node:path';
import { ArchiveError, quoted } from './errors.ts';
import type { Limits } from './limits.ts';

type Node = { name: string; kind: Kind; isNamed: boolean; children: Map<string, Node> };
type Kind = 'directory' | 'file' | 'symlink';

/**
 * The path of an entry within the directory. `missing`: the directories to create for the entry, which are its missing
 * parents and the entry itself if it is a directory.
 */
export type Place = { path: string; missing: string[] };

const longestSegment = 255;
const longestName = 1024;
const noChildren = new Map<string, Node>();

/**
 * Collects and checks the names of all entries of an archive. Refuses names that some file systems don't allow, names that
 * lead out of the directory, and names below a link, so that no file is written through a link.
 */
export class EntryTree {
  readonly #root: Node = { name: '', kind: 'directory', isNamed: false, children: new Map() };
  readonly #limits: Limits;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /**
   * Adds an entry. Parent directories that have no entry of their own count as entries, too. Throws an `ArchiveError` that
   * names the entry.
   */
  add(entry: string, kind: Kind): Place {
    const segments = nameSegments(entry);
    const missing: string[] = [];
    let node = this.#root;
    for (const [index, segment] of segments.entries()) {
      if (node.kind !== 'directory')
        throw new ArchiveError(
          'unsafe_name',
          `is inside ${quoted(node.name)}, but that is a ${node.kind} and not a directory`,
          entry,
        );
      const isLast = index === segments.length - 1;
      let child = sameName(node, segment, entry);
      if (child === undefined) {
        if (!isLast) this.#limits.count(entry, 0);
        child = { name: segment, kind: isLast ? kind : 'directory', isNamed: false, children: noChildren };
        if (child.kind === 'directory') {
          child.children = new Map();
          missing.push(path.join(...segments.slice(0, index + 1)));
        }
        node.children.set(folded(segment), child);
      }
      node = child;
    }
    if (node.kind !== kind)
      throw new ArchiveError(
        'duplicate_entry',
        `is a ${kind}, but the archive already has a ${node.kind} at this path`,
        entry,
      );
    if (node.isNamed) throw new ArchiveError('duplicate_entry', 'appears twice in the archive', entry);
    node.isNamed = true;
    return { path: path.join(...segments), missing };
  }

  /** The path of the file that a hard link leads to. Throws `unsafe_link` unless an earlier entry is this file. */
  linkedFile(target: string, entry: string): string {
    const segments = nameSegments(target, entry);
    if (this.#find(segments)?.kind === 'file') return path.join(...segments);
    throw new ArchiveError(
      'unsafe_link',
      `is a hard link to ${quoted(target)}, but no earlier entry of the archive is this file`,
      entry,
    );
  }

  /**
   * Checks a symbolic link. Throws `unsafe_link` if it leads out of the directory or through another link. Call it when all
   * entries are added.
   */
  checkSymlink(entry: string, target: string): void {
    const refuse = (problem: string) =>
      new ArchiveError('unsafe_link', `is a symbolic link to ${quoted(target)}, but ${problem}`, entry);
    if (target === '' || Buffer.byteLength(target) > longestName || isUnfit(target))
      throw refuse('not every file system allows this target');
    if (path.posix.isAbsolute(target) || path.isAbsolute(target))
      throw refuse('this target is outside of the directory to extract into');
    const place = nameSegments(entry).slice(0, -1);
    for (const segment of target.split('/')) {
      if (this.#find(place)?.kind === 'symlink') throw refuse('this target leads through another link');
      if (segment === '..' && place.pop() === undefined)
        throw refuse('this target is outside of the directory to extract into');
      if (segment !== '..' && segment !== '.' && segment !== '') place.push(segment);
    }
  }

  #find(segments: string[]): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const segment of segments) node = node?.children.get(folded(segment));
    return node;
  }
}

/**
 * Splits the name of an entry, or the target of its link, into segments. The directory itself has none. Throws
 * `unsafe_name`, with `entry` in the message, for a name that some file systems don't allow or that leads out of the
 * directory.
 */
export function nameSegments(name: string, entry = name): string[] {
  const refuse = (problem: string) =>
    new ArchiveError('unsafe_name', `${name === entry ? '' : `is a link to ${quoted(name)}, which `}${problem}`, entry);
  if (Buffer.byteLength(name) > longestName) throw refuse(`has a name longer than ${longestName} bytes`);
  if (path.posix.isAbsolute(name) || path.isAbsolute(name))
    throw refuse('is an absolute path, but entries must be relative');
  if (name === '') throw refuse('has an empty name');
  if (isUnfit(name)) throw refuse('has a character in its name that not every file system allows');
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw refuse('leads out of the directory with ".."');
  if (segments.some((segment) => Buffer.byteLength(segment) > longestSegment))
    throw refuse(`has a file or directory name longer than ${longestSegment} bytes`);
  return segments;
}

/**
 * Whether the name has a character that not every file system allows: NUL, the replacement character for invalid UTF-8,
 * and on Windows those with a special meaning.
 */
function isUnfit(name: string): boolean {
  return /[\0\ufffd]/.test(name) || (process.platform === 'win32' && /[\\:*?"<>|]/.test(name));
}

function sameName(parent: Node, segment: string, entry: string): Node | undefined {
  const node = parent.children.get(folded(segment));
  if (node === undefined || node.name === segment) return node;
  throw new ArchiveError(
    'duplicate_entry',
    `contains ${quoted(segment)}, and an earlier entry has ${quoted(node.name)} there: some file systems see no difference, so they can't hold both. Rename one of them`,
    entry,
  );
}

/**
 * The form in which names are compared. Like file systems that ignore case, it also ignores how Unicode composes a
 * character, such as é.
 */
function folded(segment: string): string {
  return segment.normalize('NFC').toLowerCase();
}
