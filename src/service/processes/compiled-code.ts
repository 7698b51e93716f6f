import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContext, Page } from '@playwright/test';
import type { createJiti } from 'jiti';

export type CompiledCode = (page: Page, context: BrowserContext, browser: Browser) => Promise<unknown>;

type WithImport = (
  ...args: [...Parameters<CompiledCode>, load: (name: string) => Promise<unknown>]
) => Promise<unknown>;

const parameters = ['page', 'context', 'browser'];
const AsyncFunction = (async () => {}).constructor as new (...words: string[]) => WithImport;

/**
 * Turns a caller's code, the body of a function in JavaScript or TypeScript, into that function. `loaderFile` is the file
 * of jiti, which compiles TypeScript. `undefined`: jiti isn't installed. Throws for code with a syntax error.
 */
export async function compiledCode(code: string, loaderFile: string | undefined): Promise<CompiledCode> {
  try {
    return new AsyncFunction(...parameters, code) as unknown as CompiledCode;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (loaderFile === undefined)
      throw new Error(`${error.message}. TypeScript needs jiti: run "npm install jiti" beside playwright-pool`);
  }
  const jiti = (await import(pathToFileURL(loaderFile).href)) as { createJiti: typeof createJiti };
  const typed = parameters.map((name) => `${name}: any`).join(', ');
  const source = `async function run(${typed}) {\n${code}\n}`;
  const script = jiti
    .createJiti(import.meta.url, { fsCache: false })
    .transform({ source, filename: 'code.ts', ts: true });
  const [, problem] = /^exports\.__JITI_ERROR__ = (.*)$/.exec(script) ?? [];
  if (problem !== undefined) {
    const { message, line } = JSON.parse(problem) as { message: string; line: number };
    // The hosted service, whose SDK (`@onkernel/sdk`) works with this service too, begins its message the same way.
    throw new Error(`TypeScript transform error: ${message.trim()} in line ${line - 1}`);
  }
  // jiti replaces `import()` by a call of `jitiImport`.
  const run = new AsyncFunction(...parameters, 'jitiImport', `${script}\nreturn run(page, context, browser);`);
  return (page, context, browser) => run(page, context, browser, (name) => import(name));
}
