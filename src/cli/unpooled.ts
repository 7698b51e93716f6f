import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { closing, codeOf } from './config-object.ts';

/** Code that starts its own browser, or an option without effect on leased browsers. `places` are `file:line`. */
export type Unpooled = { message: string; fix: string; places: string[] };

const kinds = [
  {
    pattern: /(?:\bchromium|[bB]rowserType(?:\(\))?)\s*\.\s*launch(?:PersistentContext|Server)?\s*\(/g,
    isOption: false,
    message: 'launches a browser on this machine instead of leasing one',
    fix: 'Use the fixtures page, context and browser. Turn a global setup into a setup project: its tests have these fixtures.',
  },
  {
    pattern: /\bchannel\s*:(?!\s*['"`]chromium)/g,
    isOption: true,
    message: 'the service must have the browser that channel names',
    fix: "Remove it, or install that browser on the service's machine.",
  },
  {
    pattern:
      /\b(?:executablePath|ignoreDefaultArgs|ignoreAllDefaultArgs|chromiumSandbox|downloadsPath|firefoxUserPrefs)\s*:/g,
    isOption: true,
    message: 'the service ignores or refuses this launch option',
    fix: 'Remove it. args, channel, proxy and slowMo work.',
  },
];

export type Source = { file: string; text: string };

/** Reads sources. A missing one is empty. */
export async function readSources(files: string[]): Promise<Source[]> {
  return await Promise.all(files.map(async (file) => ({ file, text: await readFile(file, 'utf8').catch(() => '') })));
}

/** Finds code in a suite's sources that doesn't use the pool's browsers, for `init` and `doctor`. */
export function findUnpooled(config: string, sources: Source[]): Unpooled[] {
  const suite = sources.filter(
    ({ file, text }) => file === config || /(['"])(?:@playwright\/test|playwright|playwright-pool)\1/.test(text),
  );
  return kinds
    .map(({ pattern, isOption, message, fix }) => {
      const places = suite.flatMap(({ file, text }) => {
        const code = codeOf(text);
        const found = isOption
          ? optionsIn(code).flatMap((part) => indicesOf(pattern, part))
          : indicesOf(pattern, { code });
        return found.map((index) => `${relative(process.cwd(), file)}:${text.slice(0, index).split('\n').length}`);
      });
      return { message, fix, places: places.toSorted() };
    })
    .filter(({ places }) => places.length > 0);
}

type Part = { code: string; start?: number };

/** The code of the objects in `use: { … }` and `test.use({ … })`. */
function optionsIn(code: string): Part[] {
  return Array.from(code.matchAll(/\buse\s*[:(]\s*\{/g), ({ index, 0: found }) => {
    const start = index + found.length - 1;
    return { code: code.slice(start, closing(code, start)), start };
  });
}

function indicesOf(pattern: RegExp, { code, start = 0 }: Part): number[] {
  return Array.from(code.matchAll(pattern), ({ index }) => start + index);
}
