import { z } from 'zod';

/** The line that the process of Playwright code gets, as JSON. */
export type CodeTask = {
  code: string;
  cdpUrl: string;
  /** The directory of playwright-core. */
  playwright: string;
  /** The proxy for requests that the code sends itself. */
  hop: string;
  /** The file of jiti, which transforms TypeScript. */
  loader?: string;
};

/** The line that it reports. The code runs in that process, so the report may be anything. */
export const codeReport = z.union([
  z.strictObject({ result: z.unknown() }),
  z.strictObject({ failure: z.strictObject({ message: z.string(), stack: z.string() }) }),
]);

export type CodeReport = z.output<typeof codeReport>;
