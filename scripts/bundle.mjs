// Makes dist of what the compiler wrote to build: the programs in few files, which start sooner than many; the files that browsers load; and
// the declarations of what can be imported. Runs after the compiler, as a part of `npm run build`.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { minifySync } from 'rolldown/utils';
import { z } from 'zod';

const root = fileURLToPath(new URL('..', import.meta.url));
const { bin, exports, dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const imported = Object.values(exports).filter((entry) => entry.types);

/** What is started or loaded by its path. */
const programs = [
  ...Object.values(bin).map((path) => posix.relative('dist', path)),
  'src/cli/suite-reporter.js',
  'src/reaper/main.js',
  'src/service/embedded.js',
  'src/service/apps/runner.js',
  'src/service/apps/guard.js',
];

/** Libraries of many files, of which few are needed: a process starts sooner without looking for each. The declarations still import zod. */
const bundled = ['zod', 'hono', '@hono/node-server'];

/**
 * What is used of undici: as a whole it takes 50 ms longer to load, in each worker before it has a browser. These are no public names, hence
 * the exact version in package.json.
 */
const partOfUndici = `
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
require('undici/lib/dispatcher/dispatcher.js').prototype.request = require('undici/lib/api/api-request.js');
export const Pool = require('undici/lib/dispatcher/pool.js');
export const errors = require('undici/lib/core/errors.js');
`;

rmSync(join(root, 'dist'), { recursive: true, force: true });
await bundleEncoderPage();
copyPageFiles();
writeLicences();
for (const { types } of imported) copyDeclarations(posix.relative('dist', types));
// Last, as scripts/bootstrap.mjs tells by one of them whether there is a whole build.
await bundlePrograms();

async function bundlePrograms() {
  const entries = [...imported.map((entry) => posix.relative('dist', entry.default)), ...programs];
  const loaded = Object.keys(dependencies).filter((name) => name !== 'undici' && !bundled.includes(name));
  const commonJS = loaded.filter((name) => manifestOf(name).type !== 'module');
  const external = [...loaded.filter((name) => !commonJS.includes(name)), ...Object.keys(peerDependencies)];
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((path) => [path.replace(/\.js$/, ''), join(root, 'build', path)])),
    platform: 'node',
    // No comments that name the file of each part.
    experimental: { attachDebugInfo: 'none' },
    external: [...builtinModules, /^node:/, ...external.map((name) => new RegExp(`^${name}(/|$)`))],
    plugins: [keepPlaces(), undiciInPart(), commonJSRequired(commonJS), contractInOutline(), smaller()],
  });
  await bundle.write({
    dir: join(root, 'dist'),
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    comments: false,
    // A chunk of each library, so that there is one which nothing else is in.
    codeSplitting: { groups: [{ test: /node_modules/, name: (path) => /node_modules\/@?(\w+)/.exec(path)[1] }] },
    // Functions and classes keep their names, and statements their lines: both are in stack traces.
    minify: { compress: true, mangle: { toplevel: true, keepNames: true }, codegen: { removeWhitespace: false } },
  });
}

/**
 * Libraries on one line, as stack traces need no lines of theirs, and the rest without its indentation: there is a limit to the size of the
 * package. Sources are indented with spaces, in texts over several lines too: a tab is always the bundler's.
 */
function smaller() {
  return {
    name: 'smaller',
    generateBundle(_, chunks) {
      for (const chunk of Object.values(chunks)) {
        const isLibrary = chunk.moduleIds.some((path) => path.includes('/node_modules/'));
        chunk.code = isLibrary ? minified(chunk.fileName, chunk.code, { module: true }) : chunk.code.replaceAll(/^\t+/gm, '');
      }
    },
  };
}

function undiciInPart() {
  const part = join(root, 'build', 'undici.js');
  return {
    name: 'undici-in-part',
    resolveId: (source) => (source === 'undici' ? part : undefined),
    load: (path) => (path === part ? partOfUndici : undefined),
  };
}

/**
 * Importing CommonJS makes Node search each of its files for the names of its exports before it runs them, and asks Playwright's loader
 * about each: of `ws` in a worker, 30 ms in place of 9.
 */
function commonJSRequired(names) {
  const require = createRequire(import.meta.url);
  const directory = join(root, 'build', 'required');
  return {
    name: 'commonjs-required',
    resolveId: (source) => (names.includes(source) ? join(directory, source) : undefined),
    load: (path) => {
      const name = relative(directory, path).replaceAll(sep, '/');
      if (!names.includes(name)) return undefined;
      const exported = Object.keys(require(name)).filter((key) => key !== 'default' && !key.startsWith('__'));
      return [
        `import { createRequire } from 'node:module';`,
        `const required = createRequire(import.meta.url)(${JSON.stringify(name)});`,
        'export default required;',
        ...exported.map((key) => `export const ${key} = required.${key};`),
      ].join('\n');
    },
  };
}

/** The client calls what its declarations describe, and does without the schemas: building them takes 50 ms, in each worker too. */
function contractInOutline() {
  const outline = join(root, 'build', 'outline.js');
  const client = join(root, 'build', 'src', 'client', sep);
  return {
    name: 'contract-in-outline',
    resolveId: (source, importer) => (importer?.startsWith(client) && source === '../contract/contract.js' ? outline : undefined),
    load: async (path) => (path === outline ? `export const contract = ${await outlineOfContract()};` : undefined),
  };
}

async function outlineOfContract() {
  const { contract } = await import('../build/src/contract/contract.js');
  return JSON.stringify(contract, (key, value) => {
    // For documents alone: the client would only carry them.
    if (key === 'summary') return undefined;
    return value instanceof z.ZodType ? {} : value;
  });
}

/** Modules find files beside them by their `import.meta.url`, which stays what it would be without a bundle. */
function keepPlaces() {
  return {
    name: 'keep-places',
    transform(code, id) {
      const path = relative(join(root, 'build'), id).replaceAll(sep, '/');
      return code.replaceAll('import.meta.url', `placeOf(${JSON.stringify(path)})`);
    },
    renderChunk: (code, { fileName }) =>
      code.replaceAll(/\bplaceOf\("([^"]+)"\)/g, (_, path) => {
        return `new URL(${JSON.stringify(posix.relative(dirname(fileName), path))}, import.meta.url).href`;
      }),
  };
}

/** What Chromium runs to encode recordings: with it the part of mediabunny that it needs. */
async function bundleEncoderPage() {
  const bundle = await rolldown({ input: join(root, 'src/service/browsers/encoder/page.js'), platform: 'browser' });
  await bundle.write({ file: join(root, 'dist/src/service/browsers/encoder/page.js'), format: 'iife', name: 'encoder', minify: true });
}

/** Their licences ask for it, and that of mediabunny to say where its source is. */
function writeLicences() {
  const texts = [...bundled, 'mediabunny'].map((name) => {
    const { version, homepage } = manifestOf(name);
    const source = `https://www.npmjs.com/package/${name}/v/${version}, ${homepage}`;
    const licence = readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8');
    return `Parts of ${name} ${version}, minified. Its source: ${source}\n\n${licence}`;
  });
  writeFileSync(join(root, 'dist/THIRD-PARTY-LICENSES'), texts.join('\n\n'));
}

function manifestOf(name) {
  return JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'));
}

/** The other scripts of pages, in which only the white space and the comments go, and the styles as they are. */
function copyPageFiles() {
  const names = readdirSync(join(root, 'src'), { recursive: true }).filter((name) => /\.(css|js)$/.test(name));
  for (const name of names.filter((name) => !name.endsWith(join('encoder', 'page.js')))) {
    const [source, target] = [join(root, 'src', name), join(root, 'dist/src', name)];
    copy(source, target);
    if (name.endsWith('.js')) writeFileSync(target, minified(name, readFileSync(source, 'utf8'), { compress: false, mangle: false }));
  }
}

/** Throws where the minifier itself would return an empty text. */
function minified(name, text, options) {
  const { code, errors } = minifySync(name, text, options);
  if (errors.length > 0) throw new Error(`${name}: ${errors[0].message}`);
  return code;
}

/** A declaration and those that it imports. */
function copyDeclarations(path, copied = new Set()) {
  if (copied.has(path)) return;
  copied.add(path);
  const source = join(root, 'build', path);
  copy(source, join(root, 'dist', path));
  const imports = readFileSync(source, 'utf8').matchAll(/(?:from|import\()\s*["'](\.[^"']+)["']/g);
  for (const [, name] of imports) copyDeclarations(posix.join(posix.dirname(path), name.replace(/(\.d)?\.[jt]s$/, '.d.ts')), copied);
}

function copy(source, target) {
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(source, target);
}
