// Finds CI workflows that already run a Playwright suite, by themselves or through scripts of package.json.
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** Places of other CI services, relative to the root of the repository. */
const otherServices = [
  '.gitlab-ci.yml',
  '.circleci/config.yml',
  'azure-pipelines.yml',
  'bitbucket-pipelines.yml',
  'Jenkinsfile',
];

const runsTests = /\bplaywright(?:-pool)?(?:@\S+)? test\b/;

/**
 * The file of the repository in `root` that already runs the Playwright suite of `config` in CI. `isCertain`: it
 * contains the command itself.
 */
export async function existingWorkflow(
  root: string,
  config: string,
): Promise<{ file: string; isCertain: boolean } | undefined> {
  const texts = await workflowTexts(root);
  const certain = texts.find(({ text }) => runsTests.test(text));
  if (certain) return { file: certain.file, isCertain: true };
  const scripts = await playwrightScripts(dirname(config), root);
  const file = texts.find(
    // Such as `playwright install`, or Playwright's image.
    ({ text }) => /\bplaywright\b/.test(text) || scripts.some((script) => isRunBy(text, script)),
  )?.file;
  return file === undefined ? undefined : { file, isCertain: false };
}

async function workflowTexts(root: string): Promise<{ file: string; text: string }[]> {
  const directory = join(root, '.github/workflows');
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const files = [
    ...entries
      .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
      .map(({ name }) => join(directory, name)),
    ...otherServices.map((name) => join(root, name)).filter((file) => existsSync(file)),
  ];
  return await Promise.all(
    files.map(async (file) => ({ file: relative(root, file), text: await readFile(file, 'utf8') })),
  );
}

/** The names of the scripts that run Playwright's tests, in the package.json files from `directory` up to `root`. */
async function playwrightScripts(directory: string, root: string): Promise<string[]> {
  const scripts = Object.entries(await scriptsOf(directory));
  const found = new Set(scripts.filter(([, command]) => runsTests.test(command)).map(([name]) => name));
  // A script may run another one. Each round adds one at least.
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const [name, command] of scripts) if ([...found].some((script) => isRunBy(command, script))) found.add(name);
  }
  const above =
    directory === root || directory === dirname(directory) ? [] : await playwrightScripts(dirname(directory), root);
  return [...found, ...above];
}

async function scriptsOf(directory: string): Promise<Record<string, string>> {
  try {
    const { scripts } = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')) as {
      scripts?: Record<string, string>;
    };
    return scripts ?? {};
  } catch {
    return {};
  }
}

const runners = /\b(?:npm|pnpm|yarn|bun|turbo|nx|lerna|run-[sp]|npm-run-all2?|node --run)\b(.*)/g;

/** Whether a line of the text runs the script of a package.json. Expressions such as `${{ matrix.x }}` fit anything. */
function isRunBy(text: string, script: string): boolean {
  return Array.from(text.matchAll(runners), ([, after = '']) => after).some((after) =>
    after
      .replaceAll(/\$\{\{.*?\}\}/g, '\0')
      .split(/[\s'"&;|]+/)
      .some((word) => (word === '\0' ? isListed(text, script) : fits(word, script))),
  );
}

function fits(word: string, script: string): boolean {
  return new RegExp(`^${word.split('\0').map(escaped).join('.*')}$`).test(script);
}

/** Whether the text has the script as a value, of a matrix for instance. */
function isListed(text: string, script: string): boolean {
  return new RegExp(`(?<![\\w:-])${escaped(script)}(?![\\w:-])`).test(text);
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
