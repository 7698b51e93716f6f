import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from '@playwright/test';
import { root, run, test } from '../support/runs/packed-package.ts';

const suite = `
  import { expect, test, type PoolTestOptions } from 'playwright-pool';
  import Reporter from 'playwright-pool/reporter';
  import { createClient } from 'playwright-pool/client';
  import { startService } from 'playwright-pool/service';
  export const options: Partial<PoolTestOptions> = {};
  export const others = [Reporter, createClient, startService];
  test('a page', async ({ page, remote: { files } }) => {
    await files.push('a.txt', '/home/user/a.txt');
    expect(await page.title()).toBe('');
  });`;

test.describe.configure({ timeout: 240_000 });

const compilers = [
  { module: 'nodenext', moduleResolution: 'nodenext', type: 'commonjs', long: '' },
  { module: 'node16', moduleResolution: 'node16', type: 'module', long: ' @long' },
  { module: 'esnext', moduleResolution: 'bundler', type: 'module', long: ' @long' },
  { module: 'preserve', moduleResolution: 'bundler', type: 'commonjs', long: ' @long' },
];

for (const { module, moduleResolution, type, long } of compilers) {
  const title = `the types compile without optional packages and without skipLibCheck: module ${module} in a project of type ${type}`;
  test(title + long, async ({ tarball, directory }) => {
    await installWithoutOptional(directory, tarball, type);
    const options = '--ignoreConfig --noEmit --strict --target es2022 --types node --skipLibCheck false'.split(' ');
    const resolution = ['--module', module, '--moduleResolution', moduleResolution];
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, ...options, ...resolution, 'a.spec.ts'], { cwd: directory });
  });
}

// The newest compilers have no node10.
test('the types compile without optional packages and without skipLibCheck: moduleResolution node10 @long', async ({
  tarball,
  directory,
}) => {
  await installWithoutOptional(directory, tarball, 'commonjs');
  // It takes 2 s to load.
  const { Project, ts } = await import('ts-morph');
  const project = new Project({
    compilerOptions: {
      noEmit: true,
      strict: true,
      skipLibCheck: false,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.CommonJS,
      moduleResolution: ts.ModuleResolutionKind.Node10,
      ignoreDeprecations: '6.0',
      types: ['node'],
      typeRoots: [join(directory, 'node_modules/@types')],
    },
  });
  project.addSourceFileAtPath(join(directory, 'a.spec.ts'));
  const messages = project.getPreEmitDiagnostics();
  expect(project.formatDiagnosticsWithColorAndContext(messages)).toBe('');
});

/** A project with the packed package, its dependencies and the packages that each project with TypeScript has. */
async function installWithoutOptional(directory: string, tarball: string, type: string): Promise<void> {
  const modules = join(directory, 'node_modules');
  await mkdir(modules);
  await run('tar', ['-xzf', tarball, '-C', modules], { cwd: directory });
  await rename(join(modules, 'package'), join(modules, 'playwright-pool'));
  const manifest = await readFile(join(modules, 'playwright-pool/package.json'), 'utf8');
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
  for (const name of ['@playwright/test', '@types/node', ...Object.keys(dependencies)]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  await writeFile(join(directory, 'package.json'), JSON.stringify({ name: 'suite', private: true, type }));
  await writeFile(join(directory, 'a.spec.ts'), suite);
}
