import { InvalidArgumentError } from 'commander';

/** The exit codes that all commands use. 0 is success. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  /** There is no result yet: the resource is still empty. */
  nothingThere: 3,
  /** Ctrl+C or a signal. */
  interrupted: 130,
} as const;

/** An error that ends a command with an exit code. Its message is printed for the user. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/**
 * Returns a parser for an option that takes whole numbers from `min` to `max`. It throws an InvalidArgumentError with the
 * message `problem` for other texts.
 */
export function wholeNumber(min: number, max: number, problem: string): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(problem);
  };
}
