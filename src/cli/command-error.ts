/** The exit codes of all commands; 0 is success. */
export const exitCodes = {
  /** The command failed. */
  failed: 1,
  /** The command was called wrongly. */
  usage: 2,
  /** What was asked for is empty so far. */
  nothingThere: 3,
  /** Ended by Ctrl+C or a signal. */
  interrupted: 130,
} as const;

/** A failure with an exit code of its own. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
