/**
 * The kind of problem with an archive, or with the directory to extract into.
 *
 * - `not_an_archive`: neither a zstd-compressed nor a plain tar
 * - `truncated`, `corrupt`, `trailing_bytes`: the archive is incomplete, is damaged, or has other data after its end
 * - `unsupported`: valid, but needs a window over 128 MiB or a dictionary, or has an entry of a type that no user-data
 *   directory has
 * - `unsafe_name`, `unsafe_link`: an entry leads out of the directory, or has a name that some file systems don't allow
 * - `duplicate_entry`: two entries have the same name, or names that differ only in upper and lower case
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

/** Thrown if an archive can't be extracted. The directory is unchanged. */
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
