import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findPool } from '../client/find-pool.ts';
import { fixOfCopies } from './check-playwright.ts';
import { connected, hostedURL } from './connection.ts';
import type { Examined, Finding } from './finding.ts';
import type { PlaywrightProject, Suite } from './suite-reporter.ts';
import { testSources } from './test-sources.ts';
import { findUnpooled, readSources } from './unpooled.ts';
import { counted } from './terminal.ts';

const listTimeout = 60_000;

/** Checks that Playwright can read the suite in this directory, and returns the suite. */
export async function checkSuite(examined: Examined): Promise<{ suite?: Suite; finding: Finding }> {
  const check = 'suite';
  try {
    const suite = await readSuite(examined);
    return { suite, finding: { check, ...describe(suite) } };
  } catch (error) {
    const message = `Playwright cannot read the suite: ${reasonOf(error as Error)}`;
    const fix = fixOf(error as Error) ?? 'run npx playwright test --list, and fix the error that it prints';
    return { finding: { check, level: 'failure', message, fix } };
  }
}

/** Why the suite can't be read, if this package or its installation is the cause. */
export async function whyUnreadable(examined: Examined): Promise<{ reason: string; fix: string } | undefined> {
  try {
    await readSuite(examined);
  } catch (error) {
    const fix = fixOf(error as Error);
    if (fix !== undefined) return { reason: reasonOf(error as Error), fix };
  }
  return undefined;
}

/** Counts the tests, and says how many of them run in leased browsers. */
function describe({ tests, workers, projects }: Suite): Pick<Finding, 'level' | 'message' | 'fix'> {
  const count = `${counted(tests, 'test')} on ${counted(workers, 'worker')}`;
  const pooled = projects.filter(isPooled).reduce((sum, { importing }) => sum + importing, 0);
  if (pooled === tests) return { level: 'ok', message: count };
  const reasons = projects.flatMap((project) => {
    if (project.unpooled !== undefined)
      return [`${named(project.name)}${counted(project.tests, 'test')}, because ${project.unpooled}`];
    const without = project.tests - project.importing;
    return without === 0
      ? []
      : [`${named(project.name)}${counted(without, 'test')} without an import of playwright-pool`];
  });
  const message = `${count}, ${pooled === 0 ? 'none' : pooled} of them in leased browsers (${reasons.join('; ')})`;
  const canLease = projects.some(({ unpooled }) => unpooled === undefined);
  if (pooled > 0 || !canLease) return { level: 'ok', message };
  const fix = "import test and expect from 'playwright-pool': npx playwright-pool init does that";
  return { level: 'warning', message, fix };
}

/** Whether a project may lease browsers. */
export function isPooled({ unpooled, tests, importing }: PlaywrightProject): boolean {
  return unpooled === undefined && (importing > 0 || tests === 0);
}

/** Errors of the installation, and how to fix them. */
const causes: { pattern: RegExp; fix: string }[] = [
  {
    pattern: /Cannot find (?:module|package) '[^']*playwright-pool\b/,
    fix: 'run npm install --save-dev playwright-pool in the package whose tests import it',
  },
  { pattern: /did not expect test|Requiring @playwright\/test second time/, fix: fixOfCopies },
  {
    pattern: /require\(\) of ES Module \S*playwright-pool\b|ERR_REQUIRE_ESM/,
    fix: 'use Node 20.19, 22.12 or newer, which can load ES modules from CommonJS tests',
  },
  {
    pattern: /Fixture "(?:remote|pool\w*)" has already been registered/,
    fix: 'rename your fixture of that name, for instance in the file that extends test: playwright-pool has remote, pool and names that begin with pool',
  },
  {
    pattern: /playwright-pool needs @playwright\/test/,
    fix: 'npm install --save-dev @playwright/test@latest',
  },
];

function fixOf({ message, stderr = '' }: Error & { stderr?: string }): string | undefined {
  return causes.find(({ pattern }) => pattern.test(stderr + message))?.fix;
}

/** Checks the options of Playwright projects that use the same service. */
export async function checkProjects(
  { projects, ...rest }: Suite,
  examined: Examined,
  isReachable: boolean,
): Promise<Finding[]> {
  const suite = { ...rest, projects: projects.filter(isPooled) };
  return [
    ...(isReachable ? await checkPool(suite, examined) : []),
    ...suite.projects.flatMap(checkTimeouts),
    ...(await Promise.all(suite.projects.map((project) => checkVideo(project, examined)))).flat(),
  ];
}

/** Finds browsers and options of the suite that the pool ignores. */
export async function checkSources({ config }: Suite): Promise<Finding[]> {
  if (config === undefined) return [];
  const files = await testSources(config, await readFile(config, 'utf8'), undefined);
  return findUnpooled(config, await readSources([config, ...files])).map(({ places, message, fix }) => ({
    check: 'sources',
    level: 'warning',
    message: `${places.join(', ')}: ${message}`,
    fix,
  }));
}

/** The line of Playwright's output with the error. Its code frames contain the word, too. */
function reasonOf({ message, stderr }: Error & { stderr?: string }): string {
  const lines = (stderr || message).trim().split('\n');
  return lines.find((line) => /^\s*\w*Error\b.*: /.test(line)) ?? lines[0]!;
}

/** Lets Playwright read the config and list the tests. */
async function readSuite({ directory, config, options, env, signal }: Examined): Promise<Suite> {
  const temporary = await mkdtemp(join(tmpdir(), 'playwright-pool-doctor-'));
  try {
    const output = join(temporary, 'suite.json');
    const cli = join(
      dirname(createRequire(join(directory, 'package.json')).resolve('@playwright/test/package.json')),
      'cli.js',
    );
    const reporter = fileURLToPath(new URL('suite-reporter.js', import.meta.url));
    const args = [cli, 'test', '--list', '--reporter', reporter, ...(config === undefined ? [] : ['--config', config])];
    const baseURL = hostedURL(options, env);
    const variables = {
      ...process.env,
      PLAYWRIGHT_POOL_SUITE_FILE: output,
      ...(baseURL !== undefined && { PLAYWRIGHT_POOL_BASE_URL: baseURL }),
    };
    await promisify(execFile)(process.execPath, args, { cwd: directory, env: variables, signal, timeout: listTimeout });
    return JSON.parse(await readFile(output, 'utf8')) as Suite;
  } finally {
    await rm(temporary, { recursive: true });
  }
}

/** Checks that the pool exists and has a browser for each worker. Otherwise workers wait for one another. */
async function checkPool({ workers, projects }: Suite, { options, env, signal }: Examined): Promise<Finding[]> {
  const check = 'pool';
  const findings: Finding[] = [];
  const isHosted = hostedURL(options, env) !== undefined;
  const pools = new Map(projects.map(({ pool, engine }) => [`${engine} ${pool.name}`, { ...pool, engine }]));
  for (const { name, engine, ...pool } of pools.values()) {
    if (name === undefined) {
      const fix = "name a pool in the config: use: { pool: 'name' }";
      if (isHosted) findings.push({ check, level: 'failure', message: 'the config names no pool', fix });
      continue;
    }
    // Ask the service first, because the config doesn't change the size of an existing pool.
    const found = await connected(options, env, signal, (client) => findPool(client, { name, engine }, { signal }));
    const size = found?.browser_pool_config.size ?? pool.size;
    const isChromium = engine === 'chromium';
    const title = isChromium ? name : `${name} with ${engine}`;
    const message = `${title} has ${counted(size ?? 0, 'browser')} for ${counted(workers, 'worker')}`;
    if (size === undefined) {
      const command = isChromium
        ? `pools create ${name} --size ${workers}`
        : `call browserPools.create name=${name} size:=${workers} engine=${engine}`;
      const fix = `npx playwright-pool ${command}, or define it in the config: pool: { name, size }`;
      findings.push({ check, level: 'failure', message: `the service has no pool ${title}`, fix });
    } else if (size < workers) {
      const fix = `enlarge the pool, or run with --workers ${size}: further workers wait for a browser`;
      findings.push({ check, level: 'warning', message, fix });
    } else {
      findings.push({ check, level: 'ok', message });
    }
  }
  return findings;
}

/** Finds idle timeouts that are too short for a paused debugger or a test that waits without the browser. */
function checkTimeouts({ name, timeout, pool }: PlaywrightProject): Finding[] {
  const idle = pool.browsers?.timeoutSeconds;
  if (idle === undefined || idle * 1000 >= timeout) return [];
  const message = `${named(name)}a browser may be idle for ${idle} s, and a test may take ${timeout / 1000} s`;
  return [
    {
      check: 'timeouts',
      level: 'warning',
      message,
      fix: `give the pool's browsers timeoutSeconds of ${Math.ceil(timeout / 1000)} or more`,
    },
  ];
}

async function checkVideo(
  { name, engine, video, pool }: PlaywrightProject,
  { options, env }: Examined,
): Promise<Finding[]> {
  // Over Playwright's own protocol, the service's machine makes the videos.
  const isElsewhere =
    (engine !== 'chromium' || pool.transport === 'playwright') && hostedURL(options, env) !== undefined;
  if (video === 'off' || isElsewhere || (await hasFFmpeg(env))) return [];
  const message = `${named(name)}Playwright's own video is on, but its ffmpeg is not installed`;
  const fix = "npx playwright install ffmpeg, or use poolReplay: 'retain-on-failure', which needs no ffmpeg";
  return [{ check: 'video', level: 'failure', message, fix }];
}

async function hasFFmpeg(env: NodeJS.ProcessEnv): Promise<boolean> {
  const { playwrightDirectory } = await import('../service/profiles/local-chromium.ts');
  const installed = await readdir(playwrightDirectory(env)).catch((): string[] => []);
  return installed.some((name) => name.startsWith('ffmpeg-'));
}

function named(project: string): string {
  return project === '' ? '' : `${project}: `;
}
