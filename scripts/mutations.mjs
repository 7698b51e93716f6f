// Changes one decision of the product at a time, runs the tests that guard it, and lists the changes that no test notices.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseAst } from 'rolldown/parseAst';
import { LinkedCopy, removeOnSignal } from './linked-copy.mjs';

const help = `Usage: node scripts/mutations.mjs [OPTIONS]

Changes one decision at a time and runs the tests that guard it. A change that no test notices survives, and is listed.
This tree stays as it is: changes and tests happen in a copy in a temporary directory. Build first (npm run build).
The changes are in scripts/mutations.

Options:
  --list          show the changes, and run nothing
  --only PATTERN  try only the changes whose file, old or new text fits the regular expression
  --help          show this text

Example:
  node scripts/mutations.mjs --only 'src/client/retry|readyAttempts'
`;

/** The longest time for the tests of one change: a change may make them wait forever. */
const longestRun = 180;

const survived = 'SURVIVES';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = options();
if (values.help) {
  process.stdout.write(help);
  process.exit();
}
const pattern = new RegExp(values.only ?? '');
const mutations = (await readMutations()).filter(({ file, before, after }) =>
  pattern.test(`${file}\n${before}\n${after}`),
);
checkTexts();
if (process.exitCode === undefined) {
  if (values.list) for (const mutation of mutations) process.stdout.write(`${described(mutation)}\n`);
  else await tryAll();
}

function options() {
  try {
    return parseArgs({
      options: { list: { type: 'boolean' }, only: { type: 'string' }, help: { type: 'boolean' } },
    });
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return process.exit(2);
  }
}

/** Reads the lists: for each file its tests, and its changes as [text before, text after, reason to survive]. */
async function readMutations() {
  const directory = join(root, 'scripts/mutations');
  const lists = await Promise.all(
    readdirSync(directory).map(async (name) => (await import(join(directory, name))).default),
  );
  return lists
    .flatMap((list) => Object.entries(list))
    .flatMap(([file, { tests, title, isBuilt = false, changes }]) =>
      changes.map(([before, after, reason]) => ({ file, before, after, reason, tests, title, isBuilt })),
    );
}

/** A text that occurs never or twice says that the code has changed: then the list must follow. */
function checkTexts() {
  for (const { file, before, after } of mutations) {
    const source = readFileSync(join(root, file), 'utf8');
    const count = source.split(before).length - 1;
    if (count !== 1) refuse(`${file} has this text ${count} times, and it must have it once: ${before}`);
    // A file that can't be read would fail all tests.
    else if (!isProgram(changed(source, { before, after }))) refuse(`${file} is no program with this text: ${after}`);
  }
}

function isProgram(source) {
  try {
    parseAst(source, { lang: 'ts' });
    return true;
  } catch {
    return false;
  }
}

function refuse(problem) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 2;
}

function changed(source, { before, after }) {
  return source.replace(before, () => after);
}

async function tryAll() {
  const copy = new LinkedCopy('mutations');
  removeOnSignal(copy);
  try {
    const isGreen = await checkUnchanged(copy);
    if (!isGreen) return;
    const survivors = [];
    for (const mutation of mutations) if (await survives(copy, mutation)) survivors.push(mutation);
    report(survivors);
  } finally {
    await copy.remove();
  }
}

/** A test that fails without a change would notice every change. */
async function checkUnchanged(copy) {
  for (const guard of new Map(mutations.map((mutation) => [guardOf(mutation), mutation])).values()) {
    const { code, output } = await runTests(copy, guard);
    if (code === 0) continue;
    process.stderr.write(`${output}\nThese tests fail without a change: ${guardOf(guard)}\n`);
    process.exitCode = 1;
  }
  return process.exitCode === undefined;
}

async function survives(copy, mutation) {
  const { file, isBuilt } = mutation;
  const path = join(copy.directory, file);
  const source = readFileSync(path, 'utf8');
  const started = performance.now();
  try {
    writeFileSync(path, changed(source, mutation));
    if (isBuilt) await build(copy);
    const result = outcomeOf(await runTests(copy, mutation));
    const seconds = Math.round((performance.now() - started) / 1000);
    process.stdout.write(`${result.padEnd(8)} ${seconds} s  ${described(mutation)}\n`);
    return result === survived;
  } finally {
    writeFileSync(path, source);
    if (isBuilt) await build(copy);
  }
}

function outcomeOf({ code, output }) {
  if (code === 0) return survived;
  if (code === undefined) return 'no end';
  if (/^ +\d+ failed$/m.test(output)) return 'fails';
  refuse(`No test could start with the next change:\n${output}`);
  return 'no start';
}

/** Ignores errors of types: the changed program runs all the same. */
async function build(copy) {
  const node = (args) => copy.run(process.execPath, args);
  await node(['node_modules/typescript/bin/tsc', '--project', 'tsconfig.build.json']);
  await node(['scripts/bundle.mjs']);
}

function runTests(copy, { tests, title }) {
  const cli = join(copy.directory, 'node_modules/@playwright/test/cli.js');
  const args = [cli, 'test', ...tests, '--max-failures=1', '--workers=2', '--timeout=40000', '--grep-invert=@long'];
  return copy.run(process.execPath, title === undefined ? args : [...args, `--grep=${title}`], {
    seconds: longestRun,
    env: { FORCE_COLOR: '0' },
  });
}

function guardOf({ tests, title = '' }) {
  return `${tests.join(' ')} ${title}`.trim();
}

function described({ file, before, after, reason }) {
  return `${file}: ${inLine(before)} to ${inLine(after)}${reason === undefined ? '' : ` (may survive: ${reason})`}`;
}

function inLine(text) {
  return JSON.stringify(text.replaceAll(/\s+/g, ' ').trim());
}

function report(survivors) {
  const share = ((100 * survivors.length) / Math.max(1, mutations.length)).toFixed(1);
  process.stdout.write(`\n${mutations.length} changes, ${survivors.length} survive (${share} %)\n`);
  for (const survivor of survivors) process.stdout.write(`  ${described(survivor)}\n`);
  const unexplained = survivors.filter(({ reason }) => reason === undefined);
  if (unexplained.length > 0) process.exitCode = 1;
}
