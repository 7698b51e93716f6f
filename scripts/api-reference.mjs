// Writes docs/api.md from the declarations in dist: npm run docs. With --check it fails where the file is not what it would write.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'oxfmt';
import { contract } from '../build/src/contract/contract.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = join(root, 'docs/api.md');
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const formatting = JSON.parse(readFileSync(join(root, '.oxfmtrc.json'), 'utf8'));

const entryPoints = {
  '.': 'For tests: `test` and `expect`, their options and fixtures. All that `@playwright/test` exports is exported too.',
  './reporter': "For the config's list of reporters.",
  './client': 'For programs that talk to a service.',
  './service': 'For programs that run the embedded service.',
};

const { code } = await format(target, page(), formatting);
if (!process.argv.includes('--check')) writeFileSync(target, code);
else if (readFileSync(target, 'utf8') !== code) {
  console.error(`${relative(root, target)} is out of date: npm run docs`);
  process.exitCode = 1;
}

function page() {
  const sections = Object.entries(entryPoints).map(([entry, purpose]) => {
    const file = join(root, exports[entry].types);
    const entries = exportedNames(file).flatMap((name) => describe(name, declarationOf(name, file)) ?? []);
    const operations = entry === './client' ? ['### Operations', operationTable()] : [];
    return [`## \`playwright-pool${entry.slice(1)}\``, purpose, ...entries, ...operations].join('\n\n');
  });
  const intro = 'Made from the types by `npm run docs`. Of classes those members are listed that are for you.';
  return ['# API', intro, ...sections].join('\n\n');
}

function exportedNames(file) {
  return statements(file).flatMap(({ text }) => {
    if (text.startsWith('export default test') || text.includes(`from '@playwright/test'`)) return [];
    const declared = /^export (?:default |declare )*(?:type|class|function|const) (\w+)/.exec(text);
    const list = /^export (?:type )?\{([^}]*)\}/.exec(text);
    if (declared) return [declared[1]];
    if (!list) return [];
    // The last comma of a list over several lines is followed by no name.
    return list[1]
      .split(',')
      .map((name) => name.replace(/^.* as |type /, '').trim())
      .filter(Boolean);
  });
}

/** The statement that declares what a module knows by a name; none where another package does. */
function declarationOf(name, file) {
  const declaration = new RegExp(`^(export )?(default )?(declare )?(type|class|function|const) ${name}\\b`);
  const declared = statements(file).find(({ text }) => declaration.test(text));
  if (declared) return { ...declared, file };
  const passed = new RegExp(`^(?:import|export) [^]*?\\b(?:(\\w+) as )?${name}\\b[^]*from '(\\.[^']*)'`);
  for (const { text } of statements(file)) {
    const [, original = name, from] = passed.exec(text) ?? [];
    if (from) return declarationOf(original, join(dirname(file), from.replace(/ts$/, 'd.ts')));
  }
  return undefined;
}

/** What an operation takes and answers is told by the table of operations. */
function describe(name, declaration) {
  if (!declaration) throw new Error(`the declaration of ${name} was not found`);
  if (declaration.file.includes('/contract/')) return undefined;
  return [`### ${name}`, declaration.comment, `\`\`\`ts\n${members(declaration.text)}\n\`\`\``].filter(Boolean).join('\n\n');
}

/** A declaration without what only the package itself can call. */
function members(text) {
  return text
    .replace(/^export (default )?(declare )?/, '')
    .replace(/^ {4}#private;\n/gm, '')
    .replace(/^ {4}(\/\*\*(?:(?!\*\/)[^])*\*\/\n {4})?constructor\((?:.*\);|[^]*?\n {4}\}.*\);)\n/gm, '')
    .replace(/^ {4}\/\*\*(?:(?!\*\/)[^])*; the fixture calls it\. \*\/\n.*\n/gm, '')
    .replaceAll('import("@playwright/test").', '')
    .replaceAll(/ & Internal(Worker)?Fixtures/g, '');
}

/** The statements of a declaration file that begin at the left margin, each with the text of the comment before it. */
function statements(file) {
  const found = [];
  let comment = '';
  const chunks = readFileSync(file, 'utf8').matchAll(
    /^(?:\/\*\*([^]*?)\*\/\n)?((?:import|export|type|declare)\b[^]*?(?:;|\n\}))$(?!\n[ }])/gm,
  );
  for (const [, before = '', text] of chunks) {
    comment = before.replace(/^\s*\*? ?/gm, '').trim();
    found.push({ comment, text });
  }
  return found;
}

function operationTable() {
  const rows = operations(contract).map(([name, { method, path, summary }]) => `| \`${name}\` | \`${method} ${path}\` | ${summary} |`);
  const note = '`npx playwright-pool call <operation> --describe` says what an operation takes.';
  return [note, ['| Function | Request | What it does |', '| --- | --- | --- |', ...rows].join('\n')].join('\n\n');
}

function operations(tree, prefix = '') {
  return Object.entries(tree).flatMap(([name, entry]) =>
    'method' in entry ? [[prefix + name, entry]] : operations(entry, `${prefix}${name}.`),
  );
}
