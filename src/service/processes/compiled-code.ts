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
 * Makes a function of its body, in JavaScript or TypeScript. `loaderFile` is the file of jiti, which only TypeScript
 * needs. Throws for code that has a wrong syntax.
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
    throw new Error(`TypeScript transform error: ${message.trim()} in line ${line - 1}`);
  }
  // jiti replaces `import()` by a function of its own.
  const run = new AsyncFunction(...parameters, 'jitiImport', `${script}\nreturn run(page, context, browser);`);
  return (page, context, browser) => run(page, context, browser, (name) => import(name));
}
