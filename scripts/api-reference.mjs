// Prints the API reference, from the declarations in dist. `npm run docs` writes it to build/api.md.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'oxfmt';
import { contract } from '../build/src/contract/contract.js';
import { publicOperations } from './public-operations.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const formatting = JSON.parse(readFileSync(join(root, '.oxfmtrc.json'), 'utf8'));

const entryPoints = {
  '.': 'For tests: `test` and `expect`, their options and fixtures. All that `@playwright/test` exports is exported too.',
  './reporter': "For the config's list of reporters.",
  './client': 'For programs that talk to a service.',
  './service': 'For programs that run the embedded service.',
};

const { code } = await format('api.md', page(), formatting);
process.stdout.write(code);

function page() {
  const described = new Set();
  const sections = Object.entries(entryPoints).map(([entry, purpose]) => {
    const file = join(root, exports[entry].types);
    const names = exportedNames(file);
    const again = names.filter((name) => described.has(name)).map((name) => `\`${name}\``);
    const entries = names
      .filter((name) => !described.has(name))
      .flatMap((name) => describe(name, declarationOf(name, file)) ?? []);
    for (const name of names) described.add(name);
    const also = again.length > 0 ? [`It also exports these, which are described above: ${again.join(', ')}.`] : [];
    const ofClient = entry === './client' ? operationTable() : [];
    return [`## \`playwright-pool${entry.slice(1)}\``, purpose, ...also, ...entries, ...ofClient].join('\n\n');
  });
  const intro = 'Made from the types by `npm run docs`. Of classes those members are listed that are for you.';
  return ['# API', intro, ...sections, publicTable()].join('\n\n');
}

/** Each operation of the hosted service, and the function of the client that calls it. */
function publicTable() {
  const own = new Map();
  for (const [name, { method, path, former }] of operations(contract)) {
    if (former) own.set(withoutNames(`${method} ${former.path}`), `\`${name}\`, 410 since ${former.removedOn}`);
    own.set(withoutNames(`${method} ${path}`), `\`${name}\``);
  }
  const rows = publicOperations(root).map((request) => {
    if (!own.has(request)) throw new Error(`${request} of the hosted service is missing in the contract`);
    return `| \`${request}\` | ${own.get(request)} |`;
  });
  const heading = `## The ${rows.length} operations of the hosted service`;
  return [heading, ['| Operation | Answered by |', '| --- | --- |', ...rows].join('\n')].join('\n\n');
}

function withoutNames(request) {
  return request.replaceAll(/\{\w+\}/g, '{}');
}

function exportedNames(file) {
  return statements(file).flatMap(({ text }) => {
    if (text.startsWith('export default test') || text.includes(`from '@playwright/test'`)) return [];
    const declared = /^export (?:default |declare )*(?:type|class|function|const) (\w+)/.exec(text);
    const list = /^export (?:type )?\{([^}]*)\}/.exec(text);
    if (declared) return [declared[1]];
    if (!list) return [];
    // No name follows the last comma of a list over several lines.
    return list[1]
      .split(',')
      .map((name) => name.replace(/^.* as |type /, '').trim())
      .filter(Boolean);
  });
}

/** The statement that declares a name of a module; `undefined` for names of other packages. */
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

/** The declaration of a name. Operations have their own table instead. */
function describe(name, declaration) {
  if (!declaration) throw new Error(`the declaration of ${name} was not found`);
  if (declaration.file.includes('/contract/')) return undefined;
  return [`### ${name}`, declaration.comment, `\`\`\`ts\n${members(declaration.text)}\n\`\`\``]
    .filter(Boolean)
    .join('\n\n');
}

/** A declaration without the members that only the package itself can call. */
function members(text) {
  return text
    .replace(/^export (default )?(declare )?/, '')
    .replace(/^ {4}#private;\n/gm, '')
    .replace(/^ {4}(\/\*\*(?:(?!\*\/)[^])*\*\/\n {4})?constructor\((?:.*\);|[^]*?\n {4}\}.*\);)\n/gm, '')
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

/** The operations without their types: editors show those, and the OpenAPI document has them. */
function operationTable() {
  const rows = operations(contract).map(([name, { method, path, summary, body, query }]) => {
    const parameters = Array.from(path.matchAll(/\{(\w+)\}/g), ([, parameter]) => parameter);
    const takes = [...parameters, ...(body ? ['body'] : []), ...(query ? ['query'] : []), 'options'];
    return `| \`${name}(${takes.join(', ')})\` | \`${method} ${path}\` | ${summary} |`;
  });
  const types =
    'Editors show the types of arguments and answers. `GET /openapi.json` of a service answers the OpenAPI document with all types and errors, and `playwright-pool call OPERATION --describe` prints the parameters of one operation.';
  return ['### Operations', types, ['| Function | Request | |', '| --- | --- | --- |', ...rows].join('\n')];
}

function operations(tree, prefix = '') {
  return Object.entries(tree).flatMap(([name, entry]) =>
    'method' in entry ? [[prefix + name, entry]] : operations(entry, `${prefix}${name}.`),
  );
}
