import { z } from 'zod';

/** The line of JSON that the service sends to the process which runs Playwright code. */
export type CodeTask = {
  code: string;
  cdpUrl: string;
  /** The targets of the session's pages, in the order in which they were opened. */
  pageTargets: string[];
  /** The directory of playwright-core. */
  playwright: string;
  /** The proxy for requests that the code sends itself. */
  proxyUrl: string;
  /** The file of jiti, which transforms TypeScript. */
  loader?: string;
};

/** The line of JSON that the process sends back. Always check it: the caller's code runs there and can write any line. */
export const codeReport = z.union([
  z.strictObject({ result: z.unknown() }),
  z.strictObject({ failure: z.strictObject({ message: z.string(), stack: z.string() }) }),
]);

export type CodeReport = z.output<typeof codeReport>;
