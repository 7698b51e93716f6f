import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { documentApplication } from '../support/document-application.ts';
import { expect, test } from '../support/pool-run.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'dist/src/cli/main.js');
const execute = promisify(execFile);

/** A code block of a document; `line` is where it begins. */
type Block = { document: string; line: number; language: string; code: string; isRun: boolean };

test('the TypeScript of the documents is right by its types', async ({}, testInfo) => {
  const directory = testInfo.outputPath('blocks');
  await mkdir(directory, { recursive: true });
  for (const block of await typeScript()) await writeFile(join(directory, fileName(block)), block.code);
  const options = { strict: true, noEmit: true, module: 'nodenext', target: 'es2023', types: ['node'], skipLibCheck: true };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
  await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = await execute(process.execPath, [tsc, '--project', directory]).catch((error: { stdout: string }) => error);
  expect(stdout).toBe('');
});

test('the tests in the documents pass on the pool', async ({ run, serve }) => {
  const tests = (await typeScript()).filter(({ code, isRun }) => isRun && /^test\(/m.test(code));
  expect(tests.map(({ document }) => document)).toEqual(
    expect.arrayContaining(['README.md', 'docs/replays.md', 'docs/files-and-input.md']),
  );
  const orders = { 'orders/2024.csv': 'number,total\n', 'orders/2025.csv': 'number,total\n' };
  const result = await run({
    files: { ...Object.fromEntries(tests.map((block) => [fileName(block), block.code])), ...orders, 'invoice.pdf': '%PDF-1.7' },
    config: `use: { baseURL: '${await serve(documentApplication)}', permissions: ['clipboard-write'] },`,
  });
  expect(result.stats, result.output).toEqual({ passed: tests.length, failed: 0, flaky: 0, skipped: 0 });
});

test('the commands in the documents exist, with their options', async ({}) => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const lines = (await blocks()).filter(({ language }) => language === 'sh').flatMap(({ code }) => code.trim().split('\n'));
  expect(lines.length).toBeGreaterThan(20);
  const helpOf = helps();
  for (const line of lines) {
    const [script] = /(?<=^npm (run )?)(?!run|init|install)\w+/.exec(line) ?? [];
    if (script !== undefined) expect(Object.keys(scripts)).toContain(script);
    const [, command] = /npx playwright-pool ([^#]*)/.exec(line) ?? [];
    if (command !== undefined) await expectCommand(command.trim(), helpOf);
    else expect(line).toMatch(/^(npm (run|test|init|install)|npx playwright|export|[A-Z_]+=)/);
  }
});

test('the links between the documents lead somewhere', async ({}) => {
  for (const document of await documents()) {
    const text = await readFile(join(root, document), 'utf8');
    for (const [, target = ''] of text.matchAll(/(?<=\]\(|src=")(?!https?:)([^)"]+)/g)) {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? join(root, document) : join(root, document, '..', path);
      expect(existsSync(file), `${document} leads to ${target}`).toBe(true);
      const headings = anchor === undefined ? [] : (await readFile(file, 'utf8')).match(/^#+ .*$/gm)!.map(anchorOf);
      if (anchor !== undefined) expect(headings, `${document} leads to ${target}`).toContain(anchor);
    }
  }
});

test('each option and fixture is in the tables of README', async ({}) => {
  const [readme, api] = await Promise.all(['README.md', 'docs/api.md'].map((name) => readFile(join(root, name), 'utf8')));
  for (const type of ['PoolWorkerOptions', 'PoolTestOptions', 'PoolFixtures']) {
    const declared = new RegExp(`^type ${type} = \\{\\n([^]*?)^\\};`, 'm').exec(api!)![1]!;
    for (const [, name] of declared.matchAll(/^ {2}(\w+):/gm)) expect(readme).toMatch(new RegExp(`^\\| \`${name}\` +\\|`, 'm'));
  }
  const environment = await Promise.all(['fixtures/options.ts', 'src/cli/main.ts'].map((name) => readFile(join(root, name), 'utf8')));
  for (const [name] of environment.join('').matchAll(/PLAYWRIGHT_POOL_\w+/g)) expect(readme).toContain(`\`${name}\``);
});

test('docs/api.md is what the types say', async ({}) => {
  await execute(process.execPath, [join(root, 'scripts/api-reference.mjs'), '--check']);
  const headings = (await readFile(join(root, 'docs/api.md'), 'utf8')).match(/^###.*$/gm)!;
  expect(headings.filter((heading, index) => heading === '###' || headings.indexOf(heading) < index)).toEqual([]);
});

async function documents(): Promise<string[]> {
  const names = await readdir(join(root, 'docs'));
  return ['README.md', ...names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
}

/** A comment before a block says why it is not run. What is generated is checked as a whole. */
async function blocks(): Promise<Block[]> {
  const found: Block[] = [];
  for (const document of (await documents()).filter((name) => name !== 'docs/api.md')) {
    const text = await readFile(join(root, document), 'utf8');
    for (const { 1: comment, 2: language = '', 3: code = '', index } of text.matchAll(
      /(<!-- not run: .* -->\n\n)?^```(\w+)\n([^]*?)^```$/gm,
    )) {
      found.push({ document, line: text.slice(0, index).split('\n').length, language, code, isRun: comment === undefined });
    }
  }
  expect([...new Set(found.map(({ language }) => language))].sort()).toEqual(['sh', 'ts']);
  return found;
}

async function typeScript(): Promise<Block[]> {
  return (await blocks()).filter(({ language }) => language === 'ts');
}

function fileName({ document, line }: Block): string {
  return `${document.replaceAll(/\W/g, '-')}-${line}.spec.ts`;
}

/** Its name and its subcommand's are known, and so are the options that it is given. */
async function expectCommand(command: string, helpOf: ReturnType<typeof helps>): Promise<void> {
  const words = command.split(/\s+/).filter(Boolean);
  const [name = '', second = ''] = words;
  if (name.startsWith('-')) return;
  const hasSubcommand = ['pools', 'sessions', 'profile', 'replays', 'keys', 'projects', 'deployments'].includes(name);
  const path = hasSubcommand ? [name, second] : [name];
  const help = await helpOf(path);
  expect(help, command).toContain(`Usage: playwright-pool ${path.join(' ')}`);
  for (const option of words.filter((word) => word.startsWith('--'))) expect(help, command).toMatch(new RegExp(`${option}[ ,\\n]`));
}

/** Many lines have the same command. */
function helps(): (path: string[]) => Promise<string> {
  const known = new Map<string, Promise<string>>();
  return (path) => {
    const name = path.join(' ');
    const help = known.get(name) ?? execute(process.execPath, [main, ...path, '--help']).then(({ stdout }) => stdout);
    known.set(name, help);
    return help;
  };
}

/** As code hosts make them. */
function anchorOf(heading: string): string {
  return heading
    .replace(/^#+ /, '')
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}
