import type { Stats } from 'node:fs';
import path from 'node:path';
import type { FileInfo } from '../../contract/files.ts';

/** Describes a file or directory for the API. */
export function fileInfo(sessionPath: string, stats: Stats): FileInfo {
  return {
    name: path.posix.basename(sessionPath) || '/',
    path: sessionPath,
    size_bytes: stats.isDirectory() ? 0 : stats.size,
    is_dir: stats.isDirectory(),
    mod_time: stats.mtime.toISOString(),
    mode: symbolicMode(stats),
  };
}

/** The mode as `ls -l` writes it: `-rw-r--r--`, `drwxr-xr-x`, `lrwxrwxrwx`. */
function symbolicMode(stats: Stats): string {
  const permission = (shift: number, special: boolean, letter: string) => {
    const bits = (stats.mode >> shift) & 0o7;
    const executable = bits & 1 ? 'x' : '-';
    const specialLetter = bits & 1 ? letter : letter.toUpperCase();
    return (bits & 4 ? 'r' : '-') + (bits & 2 ? 'w' : '-') + (special ? specialLetter : executable);
  };
  return (
    typeLetter(stats) +
    permission(6, (stats.mode & 0o4000) !== 0, 's') +
    permission(3, (stats.mode & 0o2000) !== 0, 's') +
    permission(0, (stats.mode & 0o1000) !== 0, 't')
  );
}

function typeLetter(stats: Stats): string {
  if (stats.isDirectory()) return 'd';
  if (stats.isSymbolicLink()) return 'l';
  if (stats.isFIFO()) return 'p';
  if (stats.isSocket()) return 's';
  if (stats.isBlockDevice()) return 'b';
  return stats.isCharacterDevice() ? 'c' : '-';
}
