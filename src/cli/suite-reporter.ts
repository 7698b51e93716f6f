import { writeFileSync } from 'node:fs';
import type { FullConfig, Reporter, Suite as PlaywrightSuite, TestCase } from '@playwright/test/reporter';

/** The parts of a suite that `doctor` checks. */
export type Suite = { config: string | undefined; workers: number; tests: number; projects: PlaywrightProject[] };

/** A project of the Playwright config. `timeout` is in milliseconds. */
export type PlaywrightProject = {
  name: string;
  timeout: number;
  /** Where its tests run instead of in leased browsers; `undefined` if they lease. */
  unpooled: string | undefined;
  tests: number;
  /** How many of its tests import this package. */
  importing: number;
  pool: PoolUse;
  replay: string;
  video: string;
  /** The option `pool.service` as environment variables. Don't print it: it contains the API key. */
  environment: NodeJS.ProcessEnv;
};

type PoolUse = { name?: string; size?: number; browsers?: { timeoutSeconds?: number; headless?: boolean } };

type PoolObject = PoolUse & { service?: { baseURL?: string; apiKey?: string; projectId?: string } };

type Uses = {
  browserName?: string;
  defaultBrowserType?: string;
  connectOptions?: object;
  pool?: string | PoolObject;
  poolReplay?: string | { mode: string };
};

/**
 * Writes a description of the suite, for `doctor`, into the file that PLAYWRIGHT_POOL_SUITE_FILE names. It is a Playwright
 * reporter, because only Playwright itself can read the config.
 */
export default class SuiteReporter implements Reporter {
  onBegin(config: FullConfig, suite: PlaywrightSuite): void {
    const projects = config.projects.map(({ name: project, timeout, use }): PlaywrightProject => {
      const { pool, poolReplay } = use as Uses;
      const options: PoolObject = typeof pool === 'string' ? { name: pool } : (pool ?? {});
      const { service, size, browsers, name = nameInEnvironment() } = options;
      const tests = suite.suites.find((other) => other.project()?.name === project)?.allTests() ?? [];
      const environment = {
        PLAYWRIGHT_POOL_BASE_URL: service?.baseURL,
        PLAYWRIGHT_POOL_API_KEY: service?.apiKey,
        PLAYWRIGHT_POOL_PROJECT: service?.projectId,
      };
      return {
        name: project,
        timeout,
        unpooled: whyUnpooled(use),
        tests: tests.length,
        importing: tests.filter(importsPool).length,
        pool: { name, size, browsers },
        replay: modeOf(poolReplay),
        video: modeOf(use.video),
        environment,
      };
    });
    const { configFile, workers } = config;
    const found: Suite = { config: configFile, workers, tests: suite.allTests().length, projects };
    writeFileSync(process.env['PLAYWRIGHT_POOL_SUITE_FILE']!, JSON.stringify(found));
  }

  printsToStdio(): boolean {
    return false;
  }
}

function whyUnpooled({ browserName, defaultBrowserType, connectOptions }: Uses): string | undefined {
  const browser = browserName ?? defaultBrowserType ?? 'chromium';
  if (browser !== 'chromium') return `in ${browser}`;
  return connectOptions && 'over connectOptions';
}

/**
 * Whether a test's `test` is this package's, extended by the suite perhaps. Playwright has no public way to tell that
 * for an import through other files. Without its private field, the answer is yes.
 */
function importsPool(test: TestCase): boolean {
  const type = (test as TestCase & { _testType?: { fixtures?: { fixtures?: object }[] } })._testType;
  return type?.fixtures?.some(({ fixtures = {} }) => '_testLease' in fixtures) ?? true;
}

function nameInEnvironment(): string | undefined {
  return process.env['PLAYWRIGHT_POOL_NAME']?.trim() || undefined;
}

function modeOf(option: string | { mode: string } | undefined): string {
  return typeof option === 'object' ? option.mode : (option ?? 'off');
}
