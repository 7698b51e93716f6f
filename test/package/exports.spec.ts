import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import * as playwright from '@playwright/test';
import packageJson from '../../package.json' with { type: 'json' };
import { compilerOptions } from '../support/runs/compiler-options.ts';

const { expect, test } = playwright;
const root = fileURLToPath(new URL('../..', import.meta.url));
const tsc = `${root}node_modules/typescript/bin/tsc`;

test('the built package and its types export everything of @playwright/test', async ({}, testInfo) => {
  const names = Object.keys(playwright).filter((name) => !name.startsWith('_'));
  expect(Object.keys(await import('playwright-pool'))).toEqual(expect.arrayContaining(names));

  const file = testInfo.outputPath('suite.mts');
  const imports = names.map((name) => `${name} as _${name}`).join(', ');
  const uses = names.map((name) => `_${name}`).join(', ');
  await writeFile(file, `import { ${imports} } from 'playwright-pool';\nexport const used = [${uses}];\n`);
  const { stdout } = spawnSync(process.execPath, [tsc, '--ignoreConfig', ...compilerOptions, file], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  expect(stdout).toBe('');
});

test("the package's errors are those that a test can catch", async () => {
  const exported = Object.entries(await import('playwright-pool'));
  const errors = exported.filter(([, value]) => typeof value === 'function' && value.prototype instanceof Error);
  const names = errors.map(([name]) => name).toSorted();
  expect(names).toEqual([
    'ArchiveError',
    'CallTimeoutError',
    'ConfigurationError',
    'ConflictError',
    'ConnectionError',
    'NotAuthenticatedError',
    'NotFoundError',
    'NotPooledError',
    'PoolExhaustedError',
    'ServiceError',
    'ServiceUnavailableError',
  ]);
  const documented = await readFile(`${root}docs/reliability.md`, 'utf8');
  for (const name of names) expect(documented).toContain(`| \`${name}\``);
});

/** Names that the package replaces with its own versions of the same thing. */
const replaced = new Set(['default', 'defineConfig', 'expect', 'test']);

/** Types without a use outside: computed from the contract, or of fixtures whose names begin with an underscore. */
const withoutName = new Set([
  'AuditLogDownloadQuery: ChunkQuery',
  'Client: ClientOf',
  'Client: Contract',
  'test: InternalFixtures',
  'test: InternalWorkerFixtures',
]);

/** Types of the contract with names in camel case: what they are computed from has the service's names. */
const inCamelCase = /^(AskedLogin|ConnectionInfo|LoginSubmission|LoginUse|PoolBrowsers|RemoteFile|SessionInfo): /;

test('the types of each entry point', async () => {
  const names = ['.', './reporter', './client', './service'] as const;
  const entries = names.map((name) => root + packageJson.exports[name].types.slice(2));
  const ofPlaywright = ['index', 'reporter'].map((name) => `${root}node_modules/@playwright/test/${name}.d.ts`);
  // One program for all steps: reading the declarations takes seconds.
  const types = await publicTypes([...ofPlaywright, ...entries], `${root}dist`);
  const known = new Set(ofPlaywright.flatMap((file) => Array.from(types.exportsOf(file).keys())));
  expect([...known]).toEqual(expect.arrayContaining(['Browser', 'Page', 'Request', 'Response', 'Frame', 'Suite']));

  for (const entry of entries)
    await test.step(`${entry} gives no name of Playwright another meaning, and exports each type that it names`, () => {
      const own = [...types.exportsOf(entry)]
        .filter(([, file]) => file.startsWith(`${root}dist`))
        .map(([name]) => name);
      expect(own.length).toBeGreaterThan(0);
      expect(own.filter((name) => known.has(name) && !replaced.has(name))).toEqual([]);
      // A type of this name would hide JavaScript's Proxy.
      expect(own.filter((name) => name in globalThis)).toEqual([]);
      const missing = types.missingIn(entry);
      expect(missing.filter((name) => !withoutName.has(name) && !inCamelCase.test(name))).toEqual([]);
    });
});

test("the check for missing types finds one that a signature names and the package doesn't export", async ({}, testInfo) => {
  const file = testInfo.outputPath('entry.d.mts');
  const types = 'export type Hidden = { a: string };\nexport type Shown = string;\n';
  await writeFile(testInfo.outputPath('other.d.mts'), types);
  const imports = `import type { Hidden, Shown } from './other.mjs';\nexport type { Shown };`;
  const start = 'export declare function start<T>(options: Hidden, shown: Shown, given: T): Promise<T>;';
  await writeFile(file, `${imports}\n${start}\n`);
  expect((await publicTypes([file], testInfo.outputDir)).missingIn(file)).toEqual(['start: Hidden']);
});

/** Loads the compiler, which takes 2 s, for these tests only. */
async function publicTypes(entries: string[], packed: string) {
  const { PublicTypes } = await import('./public-types.ts');
  return new PublicTypes(entries, packed);
}
