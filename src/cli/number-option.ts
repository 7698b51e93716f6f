import { InvalidArgumentError } from 'commander';

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
