import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import * as playwright from '@playwright/test';

const { expect, test } = playwright;
const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));

test('all that a suite imports from @playwright/test is in the built package and in its types', async ({}, testInfo) => {
  const names = Object.keys(playwright).filter((name) => !name.startsWith('_'));
  expect(Object.keys(await import('playwright-pool'))).toEqual(expect.arrayContaining(names));

  const file = testInfo.outputPath('suite.mts');
  const imports = names.map((name) => `${name} as _${name}`).join(', ');
  const uses = names.map((name) => `_${name}`).join(', ');
  await writeFile(file, `import { ${imports} } from 'playwright-pool';\nexport const used = [${uses}];\n`);
  const compilerOptions = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node', '--skipLibCheck'];
  const { stdout } = spawnSync(process.execPath, [tsc, '--ignoreConfig', ...compilerOptions, file], { encoding: 'utf8', timeout: 30_000 });
  expect(stdout).toBe('');
});
