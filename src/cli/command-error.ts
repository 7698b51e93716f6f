/** The exit codes of all commands; 0 is success. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  /** The resource is still empty. */
  nothingThere: 3,
  /** Ctrl+C or a signal. */
  interrupted: 130,
} as const;

/** An error with an exit code. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
