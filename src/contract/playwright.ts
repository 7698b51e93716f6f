import { z } from 'zod';
import { json, operation } from './operation.ts';

const codeResult = z.looseObject({
  success: z.boolean(),
  result: z.unknown().optional().describe('The returned value as JSON; null for undefined. Only on success'),
  error: z.string().optional().describe("The error's message. Only without success"),
  stdout: z.string().optional().describe("The code's console output, up to 1 MiB"),
  stderr: z.string().optional().describe("The code's console errors, up to 1 MiB, and the stack of its error"),
});

export type CodeResult = z.output<typeof codeResult>;

const codeRun = z.strictObject({
  code: z
    .string()
    .min(1)
    .max(2 ** 20)
    .describe('The body of an async function with the parameters page, context and browser, in TypeScript'),
  timeout_sec: z.int().min(1).max(300).default(60).describe('Seconds until the code is ended'),
});

export type CodeRun = z.output<typeof codeRun>;

/** The operation that runs Playwright code in a session, beside its browser. */
export const playwright = {
  execute: operation(
    'POST /browsers/{id}/playwright/execute',
    "Run Playwright code beside the session's browser. An error of the code is a result, too",
    { body: codeRun, responses: { 200: json(codeResult) }, errors: [429] },
  ),
};
