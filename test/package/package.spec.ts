import { existsSync } from 'node:fs';
import { cp, lstat, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { expect } from '@playwright/test';
import installed from '@playwright/test/package.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import { isLong } from '../support/processes/long-form.ts';
import { compilerOptions } from '../support/runs/compiler-options.ts';
import { root, run, test } from '../support/runs/packed-package.ts';

const config = `
  import { defineConfig } from 'playwright-pool';
  export default defineConfig({
    testMatch: /\\.spec\\.[a-z]+$/,
    workers: 2,
    fullyParallel: true,
    reporter: [['line'], ['playwright-pool/reporter']],
    use: { pool: { name: 'installed', size: 2 }, poolLease: 'worker' },
  });`;

const suite = `
  import { test, expect } from 'playwright-pool';
  test('a page', async ({ page, remote: { session } }) => {
    await page.setContent('<h1>Leased</h1>');
    await expect(page.getByRole('heading')).toHaveText('Leased');
    expect(session.pool).toBe('installed');
  });
  test('a file', async ({ page, remote: { files } }) => {
    await page.setContent('<input type=file>');
    await files.push(Buffer.from('text'), '/home/user/a.txt');
    await files.attach(page.locator('input'), '/home/user/a.txt');
    expect(await page.locator('input').evaluate((input) => (input as HTMLInputElement).files?.[0]?.text())).toBe('text');
  });`;

const commonJsSuite = `
  const { test, expect } = require('playwright-pool');
  test('a page of a JavaScript test', async ({ page }) => {
    await page.setContent('<h1>Leased</h1>');
    await expect(page.getByRole('heading')).toHaveText('Leased');
  });`;

const otherEntryPoints = `
  import { createClient } from 'playwright-pool/client';
  import { startService } from 'playwright-pool/service';
  console.error = console.log;
  const service = await startService({ traces: true });
  const headers = { authorization: 'Bearer ' + service.apiKey };
  console.log((await (await fetch(service.url + '/metrics', { headers })).json()).message);
  const client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  await client.profiles.create({ name: 'installed' });
  console.log((await client.profiles.retrieve('installed')).name);
  await client.close();
  await service.close();`;

// In one worker, which packs once.
if (!isLong) test.describe.configure({ mode: 'default' });

test('the tarball has the build and its documents, no path of this machine, below 1 MB', async ({
  tarball,
  directory,
}) => {
  expect((await stat(tarball)).size).toBeLessThan(1_000_000);
  const { packed, files } = await extract(tarball, directory);
  const needed = ['CHANGELOG.md', 'LICENSE', 'README.md', 'dist/fixtures/index.js', 'dist/fixtures/index.d.ts'];
  expect(files).toEqual(expect.arrayContaining([...needed, 'dist/src/cli/main.js', 'docs/cli.md']));
  const kinds = [
    /^(CHANGELOG\.md|LICENSE|README\.md|package\.json)$/,
    /^docs\/pictures\/[\w-]+\.(svg|webp)$/,
    /^dist\/(src|fixtures|chunks)\/[\w./-]+\.(js|d\.ts|css)(\.map)?$/,
    /^(src|fixtures)\/[\w./-]+\.(ts|js|css|md)$/,
    /^deploy\/([\w-]+\.(yaml|hcl|json|sh)|Dockerfile|kubernetes\/[\w/-]+\.yaml)$/,
    /^docs\/[\w-]+\.md$/,
    /^examples\/[\w./-]+\.(ts|mjs|js|html|css|csv|md|yml)$/,
  ];
  expect(files.filter((file) => !kinds.some((kind) => kind.test(file)))).toEqual([]);

  // The documents name the home of root, which has the same path everywhere, and that of a session.
  const paths = [root, homedir()].filter((path) => !['/', '/root', '/home/user'].includes(path));
  for (const file of files) {
    const text = await readFile(join(packed, file), 'utf8');
    for (const path of paths) expect(text.includes(path), `${file} names ${path}`).toBe(false);
  }
});

test('a tree after demo, tests and bench packs the files of a fresh clone @long', async ({ tarball, directory }) => {
  test.slow();
  const clone = join(directory, 'clone');
  await cp(root, clone, { recursive: true, filter: (file) => !ignored.test(basename(file)) });
  const fresh = await filesToPack(clone);
  const packed = await run('tar', ['-tzf', tarball], { cwd: directory });
  expect(packed.match(/(?<=^package\/).+/gm)!.toSorted()).toEqual(fresh);

  const directories = (await readdir(clone, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((place) => !relative(clone, place).startsWith('dist'));
  const outputs = ['test-results/profile/Default/Cookies', '.auth/alice.json', 'playwright-report/index.html', 'a.tgz'];
  for (const place of [clone, ...directories]) for (const output of outputs) await write(join(place, output), 'output');
  expect(await filesToPack(clone)).toEqual(fresh);
});

test('each relative link in a packed document leads to a packed file and heading', async ({ tarball, directory }) => {
  const { packed, files } = await extract(tarball, directory);
  const documents = files.filter((file) => /^(docs\/|examples\/|[A-Z]+\.md$)/.test(file) && file.endsWith('.md'));
  for (const document of documents) {
    const text = await readFile(join(packed, document), 'utf8');
    for (const [, target = ''] of text.matchAll(/(?<=\]\(|src(?:set)?=")(?!https?:)([^)"]+)/g)) {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? join(packed, document) : join(packed, document, '..', path);
      expect(existsSync(file), `${document} leads to ${target}`).toBe(true);
      const headings = anchor === undefined ? [] : (await readFile(file, 'utf8')).match(/^#+ .*$/gm)!.map(anchorOf);
      if (anchor !== undefined) expect(headings, `${document} leads to ${target}`).toContain(anchor);
    }
  }
});

test('TypeScript finds the types of each entry point, with moduleResolution node10 too @long', async ({ tarball }) => {
  const ignored = ['--ignore-rules', 'cjs-resolves-to-esm', 'no-resolution'];
  const attw = join(root, 'node_modules/.bin/attw');
  const output = await run(attw, [tarball, '--format', 'json', ...ignored], { cwd: root });
  const { analysis } = JSON.parse(output) as {
    analysis: { entrypoints: Record<string, { resolutions: { node10: { resolution?: { fileName: string } } } }> };
  };
  const found = Object.values(analysis.entrypoints).map(({ resolutions }) => resolutions.node10.resolution?.fileName);
  expect(found.map((file) => file && relative('/node_modules/playwright-pool', file))).toEqual([
    'dist/fixtures/index.d.ts',
    'dist/fixtures/reporter.d.ts',
    'dist/src/client/index.d.ts',
    'dist/src/service/service.d.ts',
    'package.json',
  ]);
});

test('dist contains only our own code: source maps name no other sources', async ({ tarball, directory }) => {
  const { packed } = await extract(tarball, directory);
  const built = (await readdir(join(packed, 'dist'), { recursive: true })).map((name) => join(packed, 'dist', name));
  for (const file of built.filter((file) => file.endsWith('.map'))) {
    const { sources, sourcesContent } = JSON.parse(await readFile(file, 'utf8')) as {
      sources: string[];
      sourcesContent?: unknown;
    };
    expect(sourcesContent).toBeUndefined();
    for (const source of sources) {
      const path = relative(packed, join(dirname(file), source));
      // No project compiles against these sources. They are in the repository only: the package would be too large.
      const known = /^src\/(archive|contract|service|cli|reaper|player|views)\//.test(path) ? root : packed;
      expect(/^(src|fixtures)\//.test(path) && existsSync(join(known, path)), `${file} names ${source}`).toBe(true);
    }
  }
  // Copied scripts and files that only re-export have no map.
  const unmapped = built.filter((file) => file.endsWith('.js') && !built.includes(`${file}.map`));
  for (const file of unmapped) {
    const lines = (await readFile(file, 'utf8')).split('\n');
    const passesOn = lines.every((line) => /^(import .*|export \{.*\};|)$/.test(line));
    const isCopy = existsSync(join(packed, relative(join(packed, 'dist'), file)));
    expect(passesOn || isCopy, `${file} has no source map`).toBe(true);
  }
});

/** The client takes the whole of undici if a version lacks one of them: `built-client.spec.ts` tests that. */
const partsOfUndici = new Set(
  ['dispatcher/dispatcher.js', 'dispatcher/pool.js', 'api/api-request.js', 'core/errors.js'].map(
    (file) => `undici/lib/${file}`,
  ),
);

test('each imported library is a dependency with a caret range, imported through its public entry points', async () => {
  const { dependencies, peerDependencies } = packageJson;
  expect(Object.entries(dependencies).filter(([, range]) => !range.startsWith('^'))).toEqual([]);

  const known = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
  // Loaded by Chromium, by the processes of apps and by those of terminals.
  const imported = new Set(['preact', 'uplot', 'jiti', '@lydell/node-pty']);
  for (const name of await readdir(join(root, 'dist'), { recursive: true })) {
    if (!name.endsWith('.js')) continue;
    const code = await readFile(join(root, 'dist', name), 'utf8');
    for (const [, stated, loaded] of code.matchAll(
      /^(?:import|export)\b[^'"\n]*["']([^."'][^"']*)["'];$|(?:\bimport|\brequire|createRequire\(.*\))\("([^."][^"]*)"\)/gm,
    )) {
      const specifier = (stated ?? loaded)!;
      if (!/^(node:|playwright-pool\/)/.test(specifier)) imported.add(specifier);
    }
  }
  const packages = [...imported].map(packageOf);
  expect(packages.filter((name) => !known.has(name))).toEqual([]);
  expect(Object.keys(dependencies).filter((name) => !packages.includes(name))).toEqual([]);
  // Node refuses a subpath that a package's `exports` doesn't name. A package without `exports` has one public entry
  // point.
  for (const specifier of imported) {
    const name = packageOf(specifier);
    const manifest = JSON.parse(await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8')) as {
      exports?: unknown;
    };
    const isPublic = specifier === name || manifest.exports !== undefined || partsOfUndici.has(specifier);
    expect(isPublic, `${specifier} is no public entry point`).toBe(true);
  }
});

for (const type of ['module', 'commonjs']) {
  test(`the installed package runs the tests of a "type": "${type}" project @long`, async ({ tarball, directory }) => {
    test.setTimeout(240_000);
    await install(directory, type, tarball);
    expect(await copiesOf('@playwright/test', directory)).toBe(1);
    expect(await copiesOf('playwright-core', directory)).toBe(1);

    await checkTypes(directory);
    const output = await runTests(directory);
    expect(output).toContain(type === 'module' ? '2 passed' : '3 passed');
    expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');
  });
}

test('client, service and command work without optional packages @long', async ({ tarball, directory }) => {
  test.setTimeout(240_000);
  await install(directory, 'module', tarball);
  await writeFile(join(directory, 'entry-points.mjs'), otherEntryPoints);
  const lines = (await run(process.execPath, ['entry-points.mjs'], { cwd: directory })).trim().split('\n');
  const traces = 'playwright-pool: OTEL_EXPORTER_OTLP_ENDPOINT is set, but traces need more packages: npm install ';
  const optional = ['api', 'sdk-trace-base', 'exporter-trace-otlp-http', 'resources'];
  expect(lines.sort()).toEqual([
    'installed',
    'metrics need the package prom-client: npm install prom-client',
    traces + optional.map((name) => `@opentelemetry/${name}`).join(' '),
  ]);

  const version = await run(join(directory, 'node_modules/.bin/playwright-pool'), ['--version'], { cwd: directory });
  expect(version).toBe(`${packageJson.version}\n`);
});

test('the oldest supported Playwright runs tests on the pool, and other installed files take less than 45 MB @long', async ({
  tarball,
  directory,
}) => {
  test.setTimeout(240_000);
  const [, oldest] = /^>=(\d+\.\d+) /.exec(packageJson.peerDependencies['@playwright/test'])!;
  await install(directory, 'module', tarball, `${oldest}.0`);
  await checkTypes(directory);
  const others = /^(@playwright|playwright|playwright-core|@types|\.\S*)$/;
  expect(await sizeOf(join(directory, 'node_modules'), others)).toBeLessThan(45_000_000);
  const output = await runTests(directory);
  expect(output).toContain('2 passed');
  expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');

  const npm = ['install', '--save-dev', '--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps'];
  await run('npm', [...npm, '@playwright/test@1.55.0'], { cwd: directory });
  const refused = await runTests(directory).catch(String);
  expect(refused).toMatch(
    /Error: playwright-pool \S+ needs @playwright\/test >=1\.61 <2, and this project has 1\.55\.0\./,
  );
});

test('init adapts the project that "npm init playwright" creates @long', async ({ tarball, directory }) => {
  test.setTimeout(300_000);
  const cwd = directory;
  const answers = ['--quiet', '--no-browsers', '--lang=TypeScript'];
  await run('npm', ['init', '--yes', 'playwright@latest', '--', ...answers], { cwd });
  await run('npm', ['install', '--save-dev', '--no-audit', '--no-fund', '--ignore-scripts', tarball], { cwd });
  // The example of npm init playwright visits a site.
  const firstTest = suite.slice(suite.indexOf(`test('a page'`), suite.indexOf(`test('a file'`));
  const example = `import { test, expect } from '@playwright/test';\n${firstTest}`;
  const withoutPool = example.replace(', session', '').replace(/.*session\.pool.*\n/, '');
  await writeFile(join(directory, 'tests/example.spec.ts'), withoutPool);

  const changed = await run('npx', ['playwright-pool', 'init', '--yes'], { cwd });
  expect(changed).toContain('Changed 3 files. Run the suite: npx playwright test');
  expect(await run('npx', ['playwright-pool', 'doctor'], { cwd })).not.toContain('FAILURE');
  const options = ['--project', 'chromium', '--reporter', 'line,playwright-pool/reporter'];
  const output = await run('npx', ['playwright', 'test', ...options], { cwd });
  expect(output).toContain('1 passed');
  expect(output).toContain('leases: 1 acquired, 1 released, 0 leaked');
});

/** The package of an import. */
function packageOf(specifier: string): string {
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)![0];
}

/** Runs the tests of a project by its own Playwright, and returns the output. */
function runTests(directory: string): Promise<string> {
  const cli = join(directory, 'node_modules/@playwright/test/cli.js');
  return run(process.execPath, [cli, 'test'], { cwd: directory });
}

/** Names that a fresh clone doesn't have. */
const ignored = /^(\.git|\.auth|node_modules|build|dist-bench|test-results.*|\w+-report|.*\.tgz)$/;

/** The files that `npm pack` would take. */
async function filesToPack(cwd: string): Promise<string[]> {
  const output = await run('npm', ['pack', '--ignore-scripts', '--dry-run', '--json'], { cwd });
  const [packed] = JSON.parse(output) as { files: { path: string }[] }[];
  return packed!.files.map(({ path }) => path).toSorted();
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

async function extract(tarball: string, directory: string): Promise<{ packed: string; files: string[] }> {
  await run('tar', ['-xzf', tarball, '-C', directory], { cwd: directory });
  const packed = join(directory, 'package');
  const entries = await readdir(packed, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return { packed, files: files.map((file) => relative(packed, file)) };
}

/** The anchor of a heading, as code hosts form it. */
function anchorOf(heading: string): string {
  return heading
    .replace(/^#+ /, '')
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

async function checkTypes(directory: string): Promise<void> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, ...compilerOptions, 'a.spec.ts', 'playwright.config.ts'], { cwd: directory });
}

/** The size of a directory in bytes, without the entries that match `left`. */
async function sizeOf(directory: string, left: RegExp): Promise<number> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => !left.test(name.split('/')[0]!));
  const stats = await Promise.all(names.map((name) => lstat(join(directory, name))));
  return stats.filter((entry) => entry.isFile()).reduce((total, { size }) => total + size, 0);
}

/** Creates a small project with the installed package. */
async function install(
  directory: string,
  type: string,
  tarball: string,
  playwright = installed.version,
): Promise<void> {
  const devDependencies = { '@playwright/test': playwright, '@types/node': '20', 'playwright-pool': `file:${tarball}` };
  const manifest = { name: 'suite', private: true, type, devDependencies };
  await writeFile(join(directory, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(directory, 'playwright.config.ts'), config);
  await writeFile(join(directory, 'a.spec.ts'), suite);
  if (type === 'commonjs') await writeFile(join(directory, 'b.spec.js'), commonJsSuite);
  await mkdir(join(directory, 'data'));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: directory });
}

async function copiesOf(name: string, directory: string): Promise<number> {
  const modules = join(directory, 'node_modules');
  const copies = (await readdir(modules, { recursive: true })).filter((path) => path.endsWith(name));
  return copies.filter((path) => existsSync(join(modules, path, 'package.json'))).length;
}
