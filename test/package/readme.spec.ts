import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { startService } from '../../src/service/service.ts';
import { compilerOptions } from '../support/runs/compiler-options.ts';
import { documentApplication } from '../support/http/document-application.ts';
import { expect, test } from '../support/runs/pool-run.ts';
import { CliProcess } from '../support/service/service-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'dist/src/cli/main.js');
const execute = promisify(execFile);

/** A code block of a document. `line` is its first line. */
type Block = { document: string; line: number; language: string; code: string; isRun: boolean };

test('the TypeScript code in the documents compiles', async ({}, testInfo) => {
  const directory = testInfo.outputPath('blocks');
  await mkdir(directory, { recursive: true });
  for (const block of await typeScript()) await writeFile(join(directory, fileName(block)), block.code);
  await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const files = await readdir(directory);
  const sources = files.filter((name) => name.endsWith('.ts'));
  const compiled = execute(process.execPath, [tsc, '--ignoreConfig', ...compilerOptions, ...sources], {
    cwd: directory,
  });
  expect((await compiled.catch((error: { stdout: string }) => error)).stdout).toBe('');
});

test('the tests in the documents pass on the pool @long', async ({ run, serve }) => {
  const tests = (await typeScript()).filter(({ code, isRun }) => isRun && /^test\(/m.test(code));
  expect(tests.map(({ document }) => document)).toEqual(
    expect.arrayContaining(['README.md', 'docs/replays.md', 'docs/files-and-input.md']),
  );
  const orders = { 'orders/2024.csv': 'number,total\n', 'orders/2025.csv': 'number,total\n' };
  const result = await run({
    files: {
      ...Object.fromEntries(tests.map((block) => [fileName(block), block.code])),
      ...orders,
      'invoice.pdf': '%PDF-1.7',
    },
    config: `use: { baseURL: '${await serve(documentApplication)}' },`,
  });
  expect(result.stats, result.output).toEqual({ passed: tests.length, failed: 0, flaky: 0, skipped: 0 });
});

test('each config in the documents loads in a fresh project @long', async ({ run }) => {
  const configs = (await typeScript()).filter(({ code }) => code.includes('export default defineConfig'));
  expect(configs.length).toBeGreaterThan(8);
  const suite = `import { test } from 'playwright-pool';\ntest('a page', async ({ page }) => { await page.title(); });`;
  test.setTimeout(configs.length * 20_000);
  for (const { document, line, code } of configs) {
    const files = { 'playwright.config.ts': code, 'a.spec.ts': suite, 'login.setup.ts': suite };
    const { exitCode, output } = await run({ files, args: ['--list'] });
    expect(exitCode, `${document}:${line}\n${output}`).toBe(0);
    expect(output).toMatch(/Total: \d/);
  }
});

test('no command in the documents is called wrongly @long', async ({ dataDirectory }, testInfo) => {
  await using service = await startService({ dataDirectory });
  // These start a service or a browser, or end with the terminal; other tests run them.
  const left = /^(serve|top|init|deploy|doctor|mcp|attach)\b/;
  const lines = (await commandLines()).map((line) => /^npx playwright-pool ([^#]*)/.exec(line)?.[1]?.trim() ?? '');
  const commands = [...new Set(lines)].filter((command) => command !== '' && !left.test(command));
  expect(commands.length).toBeGreaterThan(20);
  test.setTimeout(commands.length * 10_000);
  const cwd = testInfo.outputPath();
  await mkdir(join(cwd, 'test-results'), { recursive: true });
  // Without a config, a run of Playwright empties the directory of this repository's results.
  await writeFile(join(cwd, 'playwright.config.ts'), "export default { outputDir: 'output' };");
  const receipt = { started_at: new Date().toISOString(), ended_at: new Date().toISOString(), user_agent: 'x' };
  await writeFile(join(cwd, 'test-results/browser-leases.json'), JSON.stringify({ run: receipt }));
  const env = { ...process.env, PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: service.apiKey };
  const program = `"${process.execPath}" "${main}"`;
  for (const command of commands) {
    // With the shell, which reads the quotes.
    const ended = await execute('sh', ['-c', `${program} ${command}`], { cwd, env }).catch(
      (error: { code: number; stderr: string }) => error,
    );
    // There is no terminal to confirm at, and `profiles diff` has this code for a missing profile.
    if (/asks for a confirmation|404 not_found/.test(ended.stderr)) continue;
    expect.soft('code' in ended ? ended.code : 0, `${command}\n${ended.stderr}`).not.toBe(2);
  }
});

test("README's recipe for a service on other machines works as written @long", async ({ run }, testInfo) => {
  test.setTimeout(120_000);
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const recipe = /\*\*A service on other machines\.\*\*[^]*?```sh\n([^]*?)```/.exec(readme)![1]!.trim().split('\n');
  const key = { PLAYWRIGHT_POOL_API_KEY: 'key-of-the-recipe' };
  await using service = new CliProcess(['serve', '--data-dir', testInfo.outputPath('elsewhere')], { env: key });
  const url = (await service.firstLine()).replace('listening on ', '');
  let env: Record<string, string> = {};
  for (const line of recipe) {
    if (line.startsWith('export ')) {
      const variables = Array.from(line.matchAll(/(\w+)=(\S+)/g), ([, name, value]) => [name!, value!] as const);
      env = { ...Object.fromEntries(variables), ...key, PLAYWRIGHT_POOL_BASE_URL: url };
    } else if (line.startsWith('npx playwright-pool ')) {
      await using command = new CliProcess(line.split(' ').slice(2), { env });
      expect(await command.exited, command.output).toMatchObject({ code: 0 });
    } else {
      expect(line).toBe('npx playwright test');
      const suite = `import { test } from 'playwright-pool'; test('a page', async ({ page }) => { await page.setContent('x'); });`;
      const { stats, output } = await run({ files: { 'a.spec.ts': suite }, env });
      expect(stats, output).toMatchObject({ passed: 1, failed: 0 });
    }
  }
  expect(recipe).toHaveLength(3);
});

test('the commands in the documents exist with the options shown @long', async ({}) => {
  const lines = await commandLines();
  expect(lines.length).toBeGreaterThan(20);
  const helpOf = helps();
  for (const line of lines) {
    const [script] = /(?<=^npm (run )?)(?!run|init|install)\w+/.exec(line) ?? [];
    if (script !== undefined) expect(Object.keys(packageJson.scripts)).toContain(script);
    const [, command] = /npx playwright-pool ([^#]*)/.exec(line) ?? [];
    if (command !== undefined) await expectCommand(command.trim(), helpOf);
    else
      expect(line).toMatch(
        /^(npm (run|test|init|install)|npx playwright|docker (build|compose)|kubectl|export|[A-Z_]+=)/,
      );
  }
});

test("README's tables list each option and fixture", async ({}) => {
  const [readme, api] = await Promise.all([readFile(join(root, 'README.md'), 'utf8'), reference()]);
  for (const [type, prefix] of [
    ['type PoolWorkerOptions =', ''],
    ['type PoolTestOptions =', ''],
    ['type PoolOptions =', ''],
    ['class Remote', 'remote\\.'],
  ]) {
    const declared = new RegExp(`^${type} \\{\\n([^]*?)^\\}`, 'm').exec(api)![1]!;
    const names = [...declared.matchAll(/^ {2}(?:get )?(\w+)(?:\(\))?\??:/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) expect(readme).toMatch(new RegExp(`^\\| \`${prefix}${name}\` +\\|`, 'm'));
  }
  const environment = await Promise.all(
    ['fixtures/options.ts', 'src/cli/program.ts'].map((name) => readFile(join(root, name), 'utf8')),
  );
  for (const [name] of environment.join('').matchAll(/PLAYWRIGHT_POOL_\w+/g)) expect(readme).toContain(`\`${name}\``);
});

test('README names the ways to launch and the options that the pool ignores', async ({}) => {
  const limits = /^## Limits\n([^]*?)^## /m.exec(await readFile(join(root, 'README.md'), 'utf8'))![1]!;
  const code = ['channel', 'launchOptions', 'chromium.launch()', 'browserType().launch()'];
  for (const text of [...code.map((name) => `\`${name}\``), 'global setup']) expect(limits).toContain(text);
});

test('the reference describes each exported type once, and the 135 operations of the hosted service', async ({}) => {
  const text = await reference();
  const headings = text.match(/^##.*$/gm)!;
  expect(headings).toEqual(expect.arrayContaining(['### PoolOptions', '### createClient', '### Operations']));
  expect(headings.at(-1)).toBe('## The 135 operations of the hosted service');
  expect(headings.filter((heading, index) => heading === '###' || headings.indexOf(heading) < index)).toEqual([]);
});

/** The text that `npm run docs` writes. It fails if a declaration or an operation of the hosted service is missing. */
async function reference(): Promise<string> {
  const { stdout } = await execute(process.execPath, [join(root, 'scripts/api-reference.mjs')]);
  return stdout;
}

async function documents(): Promise<string[]> {
  const names = await readdir(join(root, 'docs'));
  return ['README.md', ...names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
}

/** All code blocks. A comment before a block says why it doesn't run. */
async function blocks(): Promise<Block[]> {
  const found: Block[] = [];
  for (const document of await documents()) {
    const text = await readFile(join(root, document), 'utf8');
    for (const { 1: comment, 2: language = '', 3: code = '', index } of text.matchAll(
      /(<!-- not run: .* -->\n\n)?^```(\w+)\n([^]*?)^```$/gm,
    )) {
      const line = text.slice(0, index).split('\n').length;
      found.push({ document, line, language, code, isRun: comment === undefined });
    }
  }
  expect([...new Set(found.map(({ language }) => language))].sort()).toEqual(['ini', 'nginx', 'sh', 'ts']);
  return found;
}

async function commandLines(): Promise<string[]> {
  const shell = (await blocks()).filter(({ language }) => language === 'sh');
  return shell.flatMap(({ code }) => code.trim().split('\n'));
}

async function typeScript(): Promise<Block[]> {
  return (await blocks()).filter(({ language }) => language === 'ts');
}

function fileName({ document, line }: Block): string {
  return `${document.replaceAll(/\W/g, '-')}-${line}.spec.ts`;
}

/** Checks that the command, its subcommand and its options exist. */
async function expectCommand(command: string, helpOf: ReturnType<typeof helps>): Promise<void> {
  // `run` runs what follows.
  const words = command
    .replace(/ -- .*/, '')
    .split(/\s+/)
    .filter(Boolean);
  const [name = '', second = ''] = words;
  if (name.startsWith('-')) return;
  const hasSubcommand = /^(pools|sessions|profiles|replays|keys|projects|deployments|invocations|runs)$/.test(name);
  const path = hasSubcommand ? [name, second] : [name];
  const help = await helpOf(path);
  expect(help, command).toContain(`Usage: playwright-pool ${path.join(' ')}`);
  for (const option of words.filter((word) => word.startsWith('--')))
    expect(help, command).toMatch(new RegExp(`${option}[ ,\\n]`));
}

/** Reads each help once. */
function helps(): (path: string[]) => Promise<string> {
  const known = new Map<string, Promise<string>>();
  return (path) => {
    const name = path.join(' ');
    const help = known.get(name) ?? execute(process.execPath, [main, ...path, '--help']).then(({ stdout }) => stdout);
    known.set(name, help);
    return help;
  };
}
