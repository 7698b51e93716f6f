import { writeFileSync } from 'node:fs';
import type { FullConfig, Reporter, Suite as PlaywrightSuite } from '@playwright/test/reporter';

/** The parts of a suite that `doctor` checks. */
export type Suite = { config: string | undefined; workers: number; tests: number; projects: PlaywrightProject[] };

/** A project of the Playwright config. `timeout` is in milliseconds. */
export type PlaywrightProject = {
  name: string;
  timeout: number;
  pool: string | { name: string; size: number; timeout_seconds?: number; headless?: boolean } | undefined;
  replay: string;
  video: string;
  /** The option `poolService` as environment variables. Don't print it: it contains the API key. */
  environment: NodeJS.ProcessEnv;
};

type Uses = {
  poolService?: { baseURL?: string; apiKey?: string; projectId?: string };
  pool?: PlaywrightProject['pool'];
  replay?: string | { mode: string };
};

/**
 * Writes a description of the suite, for `doctor`, into the file that PLAYWRIGHT_POOL_SUITE_FILE names. It is a Playwright
 * reporter, because only Playwright itself can read the config.
 */
export default class SuiteReporter implements Reporter {
  onBegin(config: FullConfig, suite: PlaywrightSuite): void {
    const projects = config.projects.map(({ name, timeout, use }): PlaywrightProject => {
      const { pool = process.env['PLAYWRIGHT_POOL_NAME'], replay, poolService } = use as Uses;
      const environment = {
        PLAYWRIGHT_POOL_BASE_URL: poolService?.baseURL,
        PLAYWRIGHT_POOL_API_KEY: poolService?.apiKey,
        PLAYWRIGHT_POOL_PROJECT: poolService?.projectId,
      };
      return { name, timeout, pool, replay: modeOf(replay), video: modeOf(use.video), environment };
    });
    const { configFile, workers } = config;
    const found: Suite = { config: configFile, workers, tests: suite.allTests().length, projects };
    writeFileSync(process.env['PLAYWRIGHT_POOL_SUITE_FILE']!, JSON.stringify(found));
  }

  printsToStdio(): boolean {
    return false;
  }
}

function modeOf(option: string | { mode: string } | undefined): string {
  return typeof option === 'object' ? option.mode : (option ?? 'off');
}
