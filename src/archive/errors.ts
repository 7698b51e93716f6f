/**
 * The problem of an archive, or of the directory to extract into.
 *
 * - `not_an_archive`: neither a zstd-compressed nor a plain tar
 * - `truncated`, `corrupt`, `trailing_bytes`: the bytes are incomplete, changed, or followed by others
 * - `unsupported`: valid, but needs a window over 128 MiB or a dictionary, or has an entry of a type that no user-data
 *   directory has
 * - `unsafe_name`, `unsafe_link`: an entry that leads out of the directory, or that some file systems can't hold
 * - `duplicate_entry`: a name that an earlier entry has, or that differs from one only in case
 * - `too_many_entries`, `too_large`: the archive exceeds a limit of `ExtractOptions.limits`
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

/** The archive was refused. The directory is unchanged. */
export class ArchiveError extends Error {
  override name = 'ArchiveError';
  readonly code: ArchiveErrorCode;
  /** The name of the refused entry, as in the archive. */
  readonly entry: string | undefined;

  constructor(code: ArchiveErrorCode, problem: string, entry?: string) {
    super(entry === undefined ? problem : `the archive's entry ${quoted(entry)} ${problem}`);
    this.code = code;
    this.entry = entry;
  }
}

/** Quotes a name of an archive in a message. Escapes control characters and cuts long names. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}
