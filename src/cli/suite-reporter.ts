import { writeFileSync } from 'node:fs';
import type { FullConfig, Reporter, Suite as PlaywrightSuite } from '@playwright/test/reporter';

/** What of a suite its health depends on. */
export type Suite = { workers: number; tests: number; projects: PlaywrightProject[] };

/** Times are in milliseconds, but for the pool's. */
export type PlaywrightProject = {
  name: string;
  timeout: number;
  pool: string | { name: string; size: number; timeout_seconds?: number; headless?: boolean } | undefined;
  replay: string;
  video: string;
  /** What the option `poolService` says, by the names that it has in the environment. It has the API key, which is not to be printed. */
  environment: NodeJS.ProcessEnv;
};

type Uses = {
  poolService?: { baseURL?: string; apiKey?: string; projectId?: string };
  pool?: PlaywrightProject['pool'];
  replay?: string | { mode: string };
};

/** A reporter that writes what a config says, for Playwright alone knows how to read it, into the file that PLAYWRIGHT_POOL_SUITE_FILE names. */
export default class SuiteReporter implements Reporter {
  onBegin(config: FullConfig, suite: PlaywrightSuite): void {
    const projects = config.projects.map(({ name, timeout, use }): PlaywrightProject => {
      const { pool, replay, poolService } = use as Uses;
      const environment = {
        PLAYWRIGHT_POOL_BASE_URL: poolService?.baseURL,
        PLAYWRIGHT_POOL_API_KEY: poolService?.apiKey,
        PLAYWRIGHT_POOL_PROJECT: poolService?.projectId,
      };
      return { name, timeout, pool, replay: modeOf(replay), video: modeOf(use.video), environment };
    });
    const found: Suite = { workers: config.workers, tests: suite.allTests().length, projects };
    writeFileSync(process.env['PLAYWRIGHT_POOL_SUITE_FILE']!, JSON.stringify(found));
  }

  printsToStdio(): boolean {
    return false;
  }
}

function modeOf(option: string | { mode: string } | undefined): string {
  return typeof option === 'object' ? option.mode : (option ?? 'off');
}
