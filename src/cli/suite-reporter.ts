import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FullConfig, Reporter, Suite as PlaywrightSuite, TestCase } from '@playwright/test/reporter';
import type { Engine } from '../contract/values.ts';
import { foreignConnectOptions, whyNotPooled } from '../../fixtures/lease/browser/playwright-browser.ts';
import { readEnvironment, settingsOf, type PoolService, type PoolSettings } from '../../fixtures/options.ts';

/** The parts of a suite that `doctor` checks. */
export type Suite = { config: string | undefined; workers: number; tests: number; projects: PlaywrightProject[] };

/** A project of the Playwright config. `timeout` is in milliseconds. */
export type PlaywrightProject = {
  name: string;
  timeout: number;
  /** Its browser. */
  engine: Engine;
  /** The reason for which its tests don't lease browsers; `undefined` if they do. */
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

type PoolUse = {
  name?: string;
  size?: number;
  browsers?: { timeoutSeconds?: number; headless?: boolean };
  transport?: PoolSettings['transport'];
};

type PoolObject = PoolUse & { service?: PoolService };

type Uses = {
  browserName?: Engine;
  defaultBrowserType?: Engine;
  connectOptions?: { wsEndpoint: string };
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
      const { service, size, browsers, transport, name = readEnvironment().pool } = options;
      const { browserName, defaultBrowserType = 'chromium' } = use as Uses;
      const engine = browserName ?? defaultBrowserType;
      const tests = suite.suites.find((other) => other.project()?.name === project)?.allTests() ?? [];
      const environment = {
        PLAYWRIGHT_POOL_BASE_URL: service?.baseURL,
        PLAYWRIGHT_POOL_API_KEY: service?.apiKey,
        PLAYWRIGHT_POOL_PROJECT: service?.projectId,
      };
      return {
        name: project,
        timeout,
        engine,
        unpooled: whyUnpooled(engine, use),
        tests: tests.length,
        importing: tests.filter(importsPool).length,
        pool: { name, size, browsers, transport },
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

type BrowserType = Parameters<typeof whyNotPooled>[2]['type'];

function whyUnpooled(engine: Engine, { connectOptions, pool }: Uses): string | undefined {
  const environment = readEnvironment();
  const { connectEndpoint: wsEndpoint } = environment;
  const settings = settingsOf({ pool, poolProfile: undefined }, environment);
  const own = wsEndpoint === undefined ? connectOptions : { wsEndpoint };
  // The suite's Playwright, which runs this process: another copy of it could not be loaded.
  const types = createRequire(process.argv[1]!)('@playwright/test') as Record<Engine, BrowserType>;
  return whyNotPooled(engine, foreignConnectOptions(own, settings, environment), {
    type: types[engine],
    service: settings.service,
    environment,
  });
}

/**
 * Whether a test's `test` is this package's, extended by the suite perhaps. Playwright has no public way to tell that
 * for an import through other files. Without its private field, the answer is yes.
 */
function importsPool(test: TestCase): boolean {
  const type = (test as TestCase & { _testType?: { fixtures?: { fixtures?: object }[] } })._testType;
  return type?.fixtures?.some(({ fixtures = {} }) => '_testLease' in fixtures) ?? true;
}

function modeOf(option: string | { mode: string } | undefined): string {
  return typeof option === 'object' ? option.mode : (option ?? 'off');
}
