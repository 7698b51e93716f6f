// Creates dist from the compiler's output in build: our programs in few files, because few files load faster; the files
// for browsers; and the declarations of the entry points. Libraries stay in node_modules. Runs as part of `npm run
// build`.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { z } from 'zod';
import { buildBrowserScripts } from './browser-scripts.mjs';
import { keepLineMappings } from './line-mappings.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { bin, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const imported = Object.values(exports).filter((entry) => entry.types);

/** Files that are started or loaded by path. */
const programs = [
  ...Object.values(bin).map((path) => posix.relative('dist', path)),
  'fixtures/shards/lock-thread.js',
  'src/cli/suite-reporter.js',
  'src/reaper/main.js',
  'src/service/process/start/embedded.js',
  'src/service/playwright/host.js',
  'src/service/processes/code-runner.js',
  'src/service/processes/terminal-host.js',
  'src/service/apps/process/runner.js',
];

rmSync(join(root, 'dist'), { recursive: true, force: true });
await buildBrowserScripts(root);
copyStyles();
for (const { types } of imported) copyDeclarations(posix.relative('dist', types));
// Last, because scripts/bootstrap.mjs takes one of these files as proof of a complete build.
await bundlePrograms();

async function bundlePrograms() {
  const entries = [...imported.map((entry) => posix.relative('dist', entry.default)), ...programs];
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((path) => [path.replace(/\.js$/, ''), join(root, 'build', path)])),
    platform: 'node',
    external: /^(node:|@?[\w-]+(\/|$))/,
    plugins: [compiled(), contractInOutline()],
    // The source maps name the files.
    experimental: { attachDebugInfo: 'none' },
  });
  const { output } = await bundle.write({
    dir: join(root, 'dist'),
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    // The package contains the sources of the fixtures and the client with their comments. All sources would take 390 kB of
    // the packed megabyte.
    comments: { legal: true, annotation: true, jsdoc: false },
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  for (const { fileName } of output) if (fileName.endsWith('.map')) keepLineMappings(join(root, 'dist', fileName));
}

/** Reads the compiler's source maps, so that dist's source maps lead to the TypeScript sources. */
function compiled() {
  return {
    name: 'compiled',
    load: (path) => {
      const place = relative(join(root, 'build'), path).replaceAll(sep, '/');
      if (path.endsWith('.json')) return dataFile(path, place);
      if (!existsSync(`${path}.map`)) return undefined;
      const code = readFileSync(path, 'utf8').replaceAll('import.meta.url', `placeOf(${JSON.stringify(place)})`);
      return { code: code.replace(/^\/\/# sourceMappingURL=.*$/m, ''), map: readFileSync(`${path}.map`, 'utf8') };
    },
    // Modules find files beside them by `import.meta.url`, so it must keep the value that it has without a bundle.
    renderChunk: (code, { fileName }) => {
      const url = (_, place) =>
        `new URL(${JSON.stringify(posix.relative(dirname(fileName), place))}, import.meta.url).href`;
      return { code: code.replaceAll(/\bplaceOf\("([^"]+)"\)/g, url), map: null };
    },
  };
}

/** A JSON file in one line, which leads to the repository's file. */
function dataFile(path, place) {
  const source = relative(dirname(path), join(root, place)).replaceAll(sep, '/');
  return {
    code: `export default JSON.parse(${JSON.stringify(JSON.stringify(JSON.parse(readFileSync(path, 'utf8'))))});`,
    map: { version: 3, sources: [source], names: [], mappings: 'AAAA' },
    moduleType: 'js',
  };
}

/**
 * Gives the client methods, paths and kinds of answers without schemas: loading zod and building schemas takes 50 ms in
 * each worker.
 */
function contractInOutline() {
  const outline = join(root, 'build', 'outline.js');
  const client = join(root, 'build', 'src', 'client', sep);
  return {
    name: 'contract-in-outline',
    resolveId: (source, importer) =>
      importer?.startsWith(client) && source === '../contract/contract.js' ? outline : undefined,
    load: async (path) => (path === outline ? await outlineOfContract() : undefined),
  };
}

async function outlineOfContract() {
  const { contract } = await import('../build/src/contract/contract.js');
  return {
    code: `export const contract = ${JSON.stringify(contract, withoutSchemas, 2)};`,
    map: { version: 3, sources: ['../src/contract/contract.ts'], names: [], mappings: 'AAAA' },
  };
}

function withoutSchemas(key, value) {
  // Only documents need summaries.
  if (key === 'summary') return undefined;
  return value instanceof z.ZodType ? {} : value;
}

function copyStyles() {
  const names = readdirSync(join(root, 'src'), { recursive: true }).filter((name) => name.endsWith('.css'));
  for (const name of names) copy(join(root, 'src', name), join(root, 'dist/src', name));
}

/** Copies a declaration and its map, and the declarations that it imports. */
function copyDeclarations(path, copied = new Set()) {
  if (copied.has(path)) return;
  copied.add(path);
  const source = join(root, 'build', path);
  for (const suffix of ['', '.map']) copy(source + suffix, join(root, 'dist', path) + suffix);
  const imports = readFileSync(source, 'utf8').matchAll(/(?:from|import\(?)\s*["'](\.[^"']+)["']/g);
  for (const [, name] of imports)
    copyDeclarations(posix.join(posix.dirname(path), name.replace(/(\.d)?\.[jt]s$/, '.d.ts')), copied);
}

function copy(source, target) {
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(source, target);
}
