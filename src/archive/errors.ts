/**
 * What is wrong with an archive, or with the directory that it was to become.
 *
 * - `not_an_archive`: neither a zstd-compressed nor a plain tar
 * - `truncated`, `corrupt`, `trailing_bytes`: the bytes are incomplete, changed, or followed by others
 * - `unsupported`: valid, but needs a window over 128 MiB, a dictionary, or an entry's type that no user-data directory has
 * - `unsafe_name`, `unsafe_link`: an entry that would be written, or would point, outside of the directory, or that not every file system can hold
 * - `duplicate_entry`: a name that is there already, or differs from one only in case
 * - `too_many_entries`, `too_large`: a limit of `ExtractOptions.limits`
 * - `target_in_use`: the directory is not empty
 */
export type ArchiveErrorCode =
  | 'not_an_archive'
  | 'truncated'
  | 'corrupt'
  | 'trailing_bytes'
  | 'unsupported'
  | 'unsafe_name'
  | 'unsafe_link'
  | 'duplicate_entry'
  | 'too_many_entries'
  | 'too_large'
  | 'target_in_use';

/** An archive was refused; the directory is as it was before. */
export class ArchiveError extends Error {
  override name = 'ArchiveError';
  readonly code: ArchiveErrorCode;
  /** The name of the entry that the error is about, as it is in the archive. */
  readonly entry: string | undefined;

  constructor(code: ArchiveErrorCode, problem: string, entry?: string) {
    super(entry === undefined ? problem : `the archive's entry ${quoted(entry)} ${problem}`);
    this.code = code;
    this.entry = entry;
  }
}

/** A name in a message. Names come from strangers: control characters are escaped, and what is too long to read is cut. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}
