import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { Command } from 'commander';
import { CommandError, exitCodes } from './command-error.ts';
import { interruptible } from './interruption.ts';
import { newWorkflow } from './ci-workflow.ts';
import { editedConfig, editedImports } from './suite-edits.ts';
import { confirm, examples } from './service-command.ts';
import { styled } from './terminal.ts';

type InitOptions = { config?: string; tests?: string; ci: boolean; yes?: boolean; dryRun?: boolean };
/** What a file is to contain; `before` is empty for one that is not there yet. */
type Edit = { file: string; before: string; after: string };

const configNames = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map((extension) => `playwright.config.${extension}`);
const source = /\.[cm]?[jt]sx?$/;
const ignored = new Set(['node_modules', 'dist', 'test-results', 'playwright-report', 'blob-report']);

const help = `${examples('init', 'init --dry-run', 'init --tests e2e --no-ci --yes')}

In the tests the import changes from "@playwright/test" to "playwright-pool"; the config gets the reporter and replays of failed tests;
and .github/workflows gets a workflow, unless one of those there runs Playwright already. Nothing is written before you have seen it.`;

/** The command that moves an existing Playwright project to the pool. */
export function initCommand(): Command {
  return new Command('init')
    .description('Move the Playwright project in this directory to the pool, showing the changes first')
    .option('-c, --config <file>', "the suite's config (default: playwright.config.* here)")
    .option('--tests <directory>', 'where the tests are (default: the directory of the config)')
    .option('--no-ci', 'without a CI workflow')
    .option('-y, --yes', 'do not ask; needed where there is no terminal to ask on')
    .option('--dry-run', 'show the changes and make none')
    .addHelpText('after', help)
    .action((options: InitOptions) => interruptible((signal) => init(options, signal)));
}

async function init(options: InitOptions, signal: AbortSignal): Promise<void> {
  const config = await configFile(options.config);
  const configEdit = await edit(config, (text) => editedConfig(text, config));
  const tests = await sources(resolve(options.tests ?? dirname(config)), config);
  const workflow = options.ci ? await newWorkflow(config, options.config !== undefined) : {};
  const edits: Edit[] = [
    configEdit,
    ...(await Promise.all(tests.map((file) => edit(file, editedImports)))),
    ...(workflow.file === undefined ? [] : [{ file: workflow.file, before: '', after: workflow.text }]),
  ].filter(({ before, after }) => before !== after);
  if (workflow.reason !== undefined) console.log(`No workflow: ${workflow.reason}`);
  if (edits.length === 0) return console.log('There is nothing to change: this project is on the pool.');
  await printPatches(edits);
  if (options.dryRun) return;
  if (!options.yes) await confirm(`Make these changes to ${edits.length} files?`, signal);
  for (const { file, after } of edits) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, after);
  }
  console.log(`Changed ${edits.length} files. Run the suite: npx playwright test`);
}

async function configFile(chosen: string | undefined): Promise<string> {
  if (chosen !== undefined) return resolve(chosen);
  const here = await readdir('.');
  const found = configNames.find((name) => here.includes(name));
  if (found !== undefined) return resolve(found);
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

/** The sources below a directory, but for the config: tests, and what they import. */
async function sources(directory: string, config: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const file = join(directory, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith('.') && !ignored.has(entry.name)) found.push(...(await sources(file, config)));
    if (entry.isFile() && source.test(entry.name) && file !== config) found.push(file);
  }
  return found;
}

async function printPatches(edits: Edit[]): Promise<void> {
  const { createTwoFilesPatch } = await import('diff');
  for (const { file, before, after } of edits) {
    const name = relative(process.cwd(), file);
    const patch = createTwoFilesPatch(before === '' ? '/dev/null' : name, name, before, after, undefined, undefined, { context: 2 });
    for (const line of patch.split('\n').slice(1)) {
      const style = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : undefined;
      console.log(style === undefined ? line : styled(process.stdout, style, line));
    }
  }
}
