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
 * All names of an archive. Refuses names that some file systems can't hold, and names that lead out of the directory.
 * The tree knows the kind of each name, so no entry can be written through a link.
 */
export class EntryTree {
  readonly #root: Node = { name: '', kind: 'directory', isNamed: false, children: new Map() };
  readonly #limits: Limits;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Adds an entry. Missing parent directories count like entries. Throws an `ArchiveError` that names the entry. */
  add(entry: string, kind: Kind): Place {
    const segments = nameSegments(entry);
    const missing: string[] = [];
    let node = this.#root;
    for (const [index, segment] of segments.entries()) {
      if (node.kind !== 'directory')
        throw new ArchiveError('unsafe_name', `is below ${quoted(node.name)}, which is a ${node.kind}`, entry);
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

  /** The path of the file that a hard link names. Throws `unsafe_link` unless that is an earlier file. */
  linkedFile(target: string, entry: string): string {
    const segments = nameSegments(target, entry);
    if (this.#find(segments)?.kind === 'file') return path.join(...segments);
    throw new ArchiveError(
      'unsafe_link',
      `is a hard link to ${quoted(target)}, which is not an earlier file of the archive`,
      entry,
    );
  }

  /**
   * Throws `unsafe_link` for a symbolic link that leads out of the directory or through another link. Call it after all
   * entries.
   */
  checkSymlink(entry: string, target: string): void {
    const refuse = (problem: string) =>
      new ArchiveError('unsafe_link', `is a link to ${quoted(target)}, ${problem}`, entry);
    if (target === '' || Buffer.byteLength(target) > longestName || isUnfit(target))
      throw refuse('which not every file system can hold');
    if (path.posix.isAbsolute(target) || path.isAbsolute(target)) throw refuse('which is outside of the directory');
    const place = nameSegments(entry).slice(0, -1);
    for (const segment of target.split('/')) {
      if (this.#find(place)?.kind === 'symlink') throw refuse('which leads through another link');
      if (segment === '..' && place.pop() === undefined) throw refuse('which is outside of the directory');
      if (segment !== '..' && segment !== '.' && segment !== '') place.push(segment);
    }
  }

  #find(segments: string[]): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const segment of segments) node = node?.children.get(folded(segment));
    return node;
  }
}

/** The segments of a name; none for the directory itself. Throws `unsafe_name` for `entry`. */
export function nameSegments(name: string, entry = name): string[] {
  const refuse = (problem: string) =>
    new ArchiveError('unsafe_name', `${name === entry ? '' : `names ${quoted(name)}, which `}${problem}`, entry);
  if (Buffer.byteLength(name) > longestName) throw refuse(`is longer than ${longestName} bytes`);
  if (path.posix.isAbsolute(name) || path.isAbsolute(name)) throw refuse('is absolute');
  if (name === '' || isUnfit(name)) throw refuse('is no name that every file system can hold');
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw refuse('leads out of the directory with ".."');
  if (segments.some((segment) => Buffer.byteLength(segment) > longestSegment))
    throw refuse(`has a part that is longer than ${longestSegment} bytes`);
  return segments;
}

/** NUL ends a name, the replacement character stands for invalid UTF-8, and Windows gives some characters a meaning. */
function isUnfit(name: string): boolean {
  return /[\0\ufffd]/.test(name) || (process.platform === 'win32' && /[\\:*?"<>|]/.test(name));
}

function sameName(parent: Node, segment: string, entry: string): Node | undefined {
  const node = parent.children.get(folded(segment));
  if (node === undefined || node.name === segment) return node;
  throw new ArchiveError('duplicate_entry', `differs from ${quoted(node.name)} only in case`, entry);
}

/** File systems that ignore case also ignore how Unicode composes a character. */
function folded(segment: string): string {
  return segment.normalize('NFC').toLowerCase();
}
