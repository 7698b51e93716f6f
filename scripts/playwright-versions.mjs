// Runs the tests of the front door with other versions of Playwright: the demo, the types of the examples, the fixtures.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { LinkedCopy, removeOnSignal } from './linked-copy.mjs';

const help = `Usage: node scripts/playwright-versions.mjs [OPTIONS] VERSION…

Runs the demo and the tests of the fixtures with other versions of @playwright/test, and compiles the examples against
their types. A version outside of the supported range must be refused with a sentence. This tree stays as it is: the
tests run in a copy in a temporary directory. Build first (npm run build).

Options:
  --only PATH  run only the test files with this text in their path; may be repeated (default: test/fixtures/)
  --help       show this text

Example:
  node scripts/playwright-versions.mjs 1.61 1.63 next
`;

const { values, positionals: versions } = options();
if (values.help || versions.length === 0) {
  process.stdout.write(help);
  process.exit(values.help ? 0 : 2);
}

const copy = new LinkedCopy('playwright-versions');
removeOnSignal(copy);
const lines = [];
try {
  for (const version of versions) lines.push(await tryVersion(version));
} finally {
  await copy.remove();
}
process.stdout.write(`\n${lines.map(({ text }) => text).join('\n')}\n`);
process.exitCode = lines.every(({ passed }) => passed) ? 0 : 1;

function options() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        only: { type: 'string', multiple: true, default: ['test/fixtures/'] },
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return process.exit(2);
  }
}

async function tryVersion(wanted) {
  const directory = join(copy.directory, '..', `playwright-${wanted}`);
  mkdirSync(directory);
  const installed = await copy.run(
    'npm',
    ['install', '--prefix', directory, '--no-save', '--no-audit', '--no-fund', `@playwright/test@${wanted}`],
    { cwd: directory, env: { PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1' } },
  );
  if (installed.code !== 0) return { passed: false, text: `${wanted}: npm can't install it:\n${installed.output}` };
  for (const name of ['@playwright/test', 'playwright', 'playwright-core'])
    copy.link(name, join(directory, 'node_modules', name));
  const version = (await playwright(['--version'])).output.trim().replace('Version ', '');

  const demo = await playwright(['test', '--config', 'examples/todo/playwright.config.ts']);
  const refusal = /playwright-pool \S+ needs @playwright\/test [^\n]+/.exec(demo.output);
  if (refusal) return { passed: true, text: `${version}: refused: ${refusal[0]}` };
  if (demo.code !== 0) process.stdout.write(demo.output);

  const types = await copy.run(process.execPath, ['node_modules/typescript/bin/tsc', ...typeArguments()]);
  if (types.code !== 0) process.stdout.write(types.output);

  const report = join(directory, 'report.json');
  const tests = await playwright(['test', ...values.only, '--grep-invert=@long', '--reporter=list,json'], {
    show: true,
    seconds: 1500,
    env: { PLAYWRIGHT_JSON_OUTPUT_FILE: report },
  });
  const broken = Object.entries({ demo, types, tests }).filter(([, { code }]) => code !== 0);
  const { stats, suites } = JSON.parse(readFileSync(report, 'utf8'));
  const counts = `${stats.expected} tests passed, ${stats.unexpected} failed, ${stats.skipped} skipped`;
  const result = broken.length === 0 ? 'passes' : `breaks the ${broken.map(([name]) => name).join(', ')}`;
  const failed = suites.flatMap(failedIn).map((title) => `\n  ${title}`);
  return { passed: broken.length === 0, text: `${version}: ${result} (${counts})${failed.join('')}` };
}

function failedIn({ file, specs, suites = [] }) {
  const failed = specs.filter(({ ok }) => !ok).map(({ line, title }) => `${file}:${line} ${title}`);
  return [...failed, ...suites.flatMap(failedIn)];
}

function playwright(args, options) {
  const cli = join(copy.directory, 'node_modules/@playwright/test/cli.js');
  return copy.run(process.execPath, [cli, ...args], options);
}

/** The compiler's arguments for the examples, with the settings of a strict user. */
function typeArguments() {
  const examples = readdirSync(join(copy.directory, 'examples'), { recursive: true });
  const files = examples.filter((name) => name.endsWith('.ts')).map((name) => join('examples', name));
  const settings =
    '--noEmit --strict --module nodenext --target es2023 --types node --skipLibCheck --ignoreConfig --allowImportingTsExtensions';
  return [...settings.split(' '), ...files];
}
