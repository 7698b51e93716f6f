import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { Command } from 'commander';
import { CommandError, exitCodes } from './command-error.ts';
import { interruptible } from './interruption.ts';
import { newWorkflow } from './ci-workflow.ts';
import { testDirectories } from './config-object.ts';
import { editedConfig, editedImports, isMoved, leftInConfig } from './suite-edits.ts';
import { whyUnreadable } from './check-suite.ts';
import { configNames, configsBelow, testSources } from './test-sources.ts';
import { confirm, examples } from './service-command.ts';
import { styled, counted } from './terminal.ts';
import { findUnpooled } from './unpooled.ts';

type InitOptions = { config?: string; tests?: string; ci: boolean; yes?: boolean; dryRun?: boolean };
/** A change of a file. `before` is empty for a new file. */
type Edit = { file: string; before: string; after: string };
/** How many configs a message names. */
const mostConfigs = 5;

const help = `${examples('init', 'init --dry-run', 'init --tests e2e --no-ci --yes')}

init changes imports of "@playwright/test" to "playwright-pool", and adds the reporter and replays of failed tests to the config. It adds a
workflow to .github/workflows, unless a workflow there runs Playwright. It shows the changes before it makes them.`;

/** The command `init`. */
export function initCommand(): Command {
  return new Command('init')
    .description('Move the Playwright project in this directory to the pool; show the changes first')
    .option('-c, --config <file>', "the suite's config (default: playwright.config.* here)")
    .option('--tests <directory>', 'directory of the tests (default: the directory of the config, and its testDir)')
    .option('--no-ci', 'add no CI workflow')
    .option('-y, --yes', 'do not ask; needed without a terminal')
    .option('--dry-run', 'show the changes, but make none')
    .addHelpText('after', help)
    .action((options: InitOptions) => interruptible((signal) => init(options, signal)));
}

async function init(options: InitOptions, signal: AbortSignal): Promise<void> {
  const config = await configFile(options.config);
  const configEdit = await edit(config, (text) => editedConfig(text, config));
  const files = await testSources(config, configEdit.before, options.tests);
  const tests = await Promise.all(files.map((file) => edit(file, editedImports)));
  const workflow = options.ci ? await newWorkflow(config, options.config !== undefined) : {};
  const workflowEdits = workflow.file === undefined ? [] : [{ file: workflow.file, before: '', after: workflow.text }];
  const edits = [configEdit, ...tests, ...workflowEdits].filter(({ before, after }) => before !== after);
  // The lines of the places, as they are after this command.
  const sources = [configEdit, ...tests].map(({ file, before, after }) => ({
    file,
    text: options.dryRun ? before : after,
  }));
  const left = [
    ...leftInConfig(configEdit.after, relative(process.cwd(), config)),
    ...leftInTests(tests, options.tests === undefined ? configEdit.before : ''),
    ...findUnpooled(config, sources).map(({ places, message, fix }) => `${places.join(', ')}: ${message}. ${fix}`),
  ];
  await printPatches(edits);
  if (workflow.reason !== undefined) console.log(`No workflow: ${workflow.reason}`);
  for (const line of left) console.log(`By hand: ${line}`);
  if (edits.length === 0) {
    return console.log(
      left.length > 0 ? 'There is nothing else to change.' : 'There is nothing to change: this project is on the pool.',
    );
  }
  if (options.dryRun) return;
  if (!options.yes) await confirm(`Make these changes to ${counted(edits.length, 'file')}?`, signal);
  for (const { file, after } of edits) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, after);
  }
  const changed = `Changed ${counted(edits.length, 'file')}.`;
  const directory = process.cwd();
  const problem = await whyUnreadable({ options: {}, env: process.env, directory, config, signal });
  if (!problem) return console.log(`${changed} Run the suite: npx playwright test`);
  console.log(changed);
  throw new CommandError(`Playwright can't load the suite: ${problem.reason}\nTo fix it, ${problem.fix}`);
}

/** The changes of tests that a person must make. `config` is the text of the config. */
function leftInTests(tests: Edit[], config: string): string[] {
  if (testDirectories(config).includes(undefined))
    return ['name the directory of the tests with --tests: testDir is not a string literal.'];
  if (tests.some(({ after }) => isMoved(after))) return [];
  return [
    'change the import of the tests to playwright-pool, or name their directory with --tests: no source imports playwright-pool.',
  ];
}

async function configFile(chosen: string | undefined): Promise<string> {
  if (chosen !== undefined) return resolve(chosen);
  const here = await readdir('.');
  const found = configNames.find((name) => here.includes(name));
  if (found !== undefined) return resolve(found);
  const below = (await configsBelow('.')).slice(0, mostConfigs);
  if (below.length > 0) {
    throw new CommandError(
      `there is no playwright.config.ts in ${process.cwd()}: run init in the directory of ${below.join(' or ')}`,
      exitCodes.usage,
    );
  }
  throw new CommandError(
    `there is no playwright.config.ts in ${process.cwd()}: make a project with npm init playwright@latest, or name its config with --config`,
    exitCodes.usage,
  );
}

async function edit(file: string, change: (text: string) => string): Promise<Edit> {
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${file} cannot be read (${error.code}): check its path`, exitCodes.usage, { cause: error });
  });
  return { file, before, after: change(before) };
}

async function printPatches(edits: Edit[]): Promise<void> {
  const { createTwoFilesPatch } = await import('diff');
  for (const { file, before, after } of edits) {
    const name = relative(process.cwd(), file);
    const patch = createTwoFilesPatch(before === '' ? '/dev/null' : name, name, before, after, undefined, undefined, {
      context: 2,
    });
    for (const line of patch.split('\n').slice(1)) {
      const style = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : undefined;
      console.log(style === undefined ? line : styled(process.stdout, style, line));
    }
  }
}
