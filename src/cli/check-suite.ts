import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connected, hostedURL } from './connection.ts';
import { counted } from './counted.ts';
import type { Examined, Finding } from './finding.ts';
import type { PlaywrightProject, Suite } from './suite-reporter.ts';
import { testSources } from './test-sources.ts';
import { findUnpooled } from './unpooled.ts';

const listTimeout = 60_000;

/** Checks that Playwright can read the suite in this directory, and returns the suite. */
export async function checkSuite(examined: Examined): Promise<{ suite?: Suite; finding: Finding }> {
  const check = 'suite';
  try {
    const suite = await readSuite(examined);
    return {
      suite,
      finding: {
        check,
        level: 'ok',
        message: `${counted(suite.tests, 'test')} on ${counted(suite.workers, 'worker')}`,
      },
    };
  } catch (error) {
    const message = `Playwright cannot read the suite: ${reasonOf(error as Error)}`;
    return {
      finding: {
        check,
        level: 'failure',
        message,
        fix: 'run npx playwright test --list, and fix the error that it prints',
      },
    };
  }
}

/** Checks the options of Playwright projects that use the same service. */
export async function checkProjects(suite: Suite, examined: Examined, isReachable: boolean): Promise<Finding[]> {
  return [
    ...(isReachable ? await checkPool(suite, examined) : []),
    ...suite.projects.flatMap((project) => [...checkTimeouts(project), ...checkReplay(project, examined)]),
    ...(await Promise.all(suite.projects.map((project) => checkVideo(project, examined)))).flat(),
  ];
}

/** Finds browsers and options of the suite that the pool ignores. */
export async function checkSources({ config }: Suite): Promise<Finding[]> {
  if (config === undefined) return [];
  const files = await testSources(config, await readFile(config, 'utf8'), undefined);
  return (await findUnpooled(config, files)).map(({ places, message, fix }) => ({
    check: 'sources',
    level: 'warning',
    message: `${places.join(', ')}: ${message}`,
    fix,
  }));
}

/** The line of Playwright's output with the error. */
function reasonOf({ message, stderr }: Error & { stderr?: string }): string {
  const lines = (stderr || message).trim().split('\n');
  return lines.find((line) => /Error\b.*: /.test(line)) ?? lines[0]!;
}

/** Lets Playwright read the config and list the tests. */
async function readSuite({ directory, config, signal }: Examined): Promise<Suite> {
  const temporary = await mkdtemp(join(tmpdir(), 'playwright-pool-doctor-'));
  try {
    const output = join(temporary, 'suite.json');
    const cli = join(
      dirname(createRequire(join(directory, 'package.json')).resolve('@playwright/test/package.json')),
      'cli.js',
    );
    const reporter = fileURLToPath(new URL('suite-reporter.js', import.meta.url));
    const args = [cli, 'test', '--list', '--reporter', reporter, ...(config === undefined ? [] : ['--config', config])];
    const env = { ...process.env, PLAYWRIGHT_POOL_SUITE_FILE: output };
    await promisify(execFile)(process.execPath, args, { cwd: directory, env, signal, timeout: listTimeout });
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
  const pools = new Map(projects.map(({ pool }) => [typeof pool === 'string' ? pool : pool?.name, pool]));
  for (const [name, pool] of pools) {
    if (name === undefined) {
      const fix = "name a pool in the config: use: { pool: 'name' }";
      if (isHosted) findings.push({ check, level: 'failure', message: 'the config names no pool', fix });
      continue;
    }
    // Ask the service first, because the config doesn't change the size of an existing pool.
    const size = (await sizeOf(name, { options, env, signal })) ?? (typeof pool === 'object' ? pool.size : undefined);
    const message = `${name} has ${counted(size ?? 0, 'browser')} for ${counted(workers, 'worker')}`;
    if (size === undefined) {
      const fix = `npx playwright-pool pools create ${name} --size ${workers}, or define it in the config: pool: { name, size }`;
      findings.push({ check, level: 'failure', message: `the service has no pool ${name}`, fix });
    } else if (size < workers) {
      const fix = `enlarge the pool, or run with --workers ${size}: further workers wait for a browser`;
      findings.push({ check, level: 'warning', message, fix });
    } else {
      findings.push({ check, level: 'ok', message });
    }
  }
  return findings;
}

async function sizeOf(
  name: string,
  { options, env, signal }: Pick<Examined, 'options' | 'env' | 'signal'>,
): Promise<number | undefined> {
  try {
    const pool = await connected(options, env, signal, (client) => client.browserPools.retrieve(name, { signal }));
    return pool.browser_pool_config.size;
  } catch (error) {
    if (error instanceof Error && error.name === 'NotFoundError') return undefined;
    throw error;
  }
}

/** Finds idle timeouts that are too short for a paused debugger or a test that waits without the browser. */
function checkTimeouts({ name, timeout, pool }: PlaywrightProject): Finding[] {
  const idle = typeof pool === 'object' ? pool.timeout_seconds : undefined;
  if (idle === undefined || idle * 1000 >= timeout) return [];
  const message = `${named(name)}a browser may be idle for ${idle} s, and a test may take ${timeout / 1000} s`;
  return [
    {
      check: 'timeouts',
      level: 'warning',
      message,
      fix: `give the pool timeout_seconds of ${Math.ceil(timeout / 1000)} or more`,
    },
  ];
}

function checkReplay({ name, replay, pool }: PlaywrightProject, { options, env }: Examined): Finding[] {
  const isHosted = hostedURL(options, env) !== undefined;
  const isHeadless = typeof pool === 'object' && pool.headless === true;
  if (!isHosted || !isHeadless || replay === 'off') return [];
  const message = `${named(name)}replay is on, but the pool is headless`;
  const fix = 'hosted services record headful browsers only: remove headless from the pool';
  return [{ check: 'replay', level: 'warning', message, fix }];
}

async function checkVideo({ name, video }: PlaywrightProject, { env }: Examined): Promise<Finding[]> {
  if (video === 'off' || (await hasFFmpeg(env))) return [];
  const message = `${named(name)}Playwright's own video is on, but its ffmpeg is not installed`;
  const fix = "npx playwright install ffmpeg, or use replay: 'retain-on-failure', which needs no ffmpeg";
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
