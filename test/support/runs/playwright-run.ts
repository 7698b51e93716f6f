import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import type { JSONReport, JSONReportSpec, JSONReportSuite, JSONReportTestResult } from '@playwright/test/reporter';

/** A whole Playwright run of a small project, in its own process. */
export type RunOptions = {
  /** A file of the project or a directory with several. Without a config the run writes one. */
  suite?: string;
  /** Further files of the project by name. */
  files?: Record<string, string>;
  /** The directory of an earlier run, whose project runs again. */
  directory?: string;
  /** Source text of properties for the written config. */
  config?: string;
  args?: string[];
  env?: Record<string, string>;
  /** The beginning of a command line that runs the rest of it, such as `nsenter --net=FILE`. */
  enter?: string[];
  /** The directory `node_modules` of the project, which has another Playwright. Default: this repository's. */
  modules?: string;
};

export type RunResult = {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** Everything that was printed. */
  output: string;
  /** The results of each test's attempts, by title. */
  results: Record<string, JSONReportTestResult[]>;
  specs: JSONReportSpec[];
  stats: { passed: number; failed: number; flaky: number; skipped: number };
};

export class PlaywrightRun {
  readonly directory: string;
  readonly process: ChildProcess;
  #output = '';
  readonly #exited: Promise<unknown>;

  constructor(directory: string, options: RunOptions) {
    this.directory = directory;
    if (options.suite !== undefined) copyTo(directory, options.suite);
    const config = join(directory, 'playwright.config.ts');
    const written = existsSync(config) ? {} : { 'playwright.config.ts': configSource(options.config ?? '') };
    for (const [name, content] of Object.entries({ ...written, ...options.files })) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), content);
    }
    if (options.modules !== undefined) {
      symlinkSync(options.modules, join(directory, 'node_modules'), 'junction');
      // Without it, the project belongs to this repository's package, and imports that.
      writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
    }
    const from = options.modules === undefined ? import.meta.url : config;
    const cli = createRequire(from).resolve('@playwright/test/cli');
    const line = [...(options.enter ?? []), process.execPath, cli, 'test', '--config', config, ...(options.args ?? [])];
    this.process = spawn(line[0]!, line.slice(1), {
      cwd: directory,
      env: { ...cleanEnvironment(), PLAYWRIGHT_JSON_OUTPUT_FILE: join(directory, 'report.json'), ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, so that a test can signal all of it.
      detached: true,
    });
    this.process.stdout?.on('data', (data: Buffer) => (this.#output += data.toString()));
    this.process.stderr?.on('data', (data: Buffer) => (this.#output += data.toString()));
    this.#exited = once(this.process, 'close');
  }

  get pid(): number {
    if (this.process.pid === undefined) throw new Error('the run did not start');
    return this.process.pid;
  }

  /** Everything printed so far. */
  get output(): string {
    return this.#output;
  }

  async finished(): Promise<RunResult> {
    await this.#exited;
    const report = readReport(join(this.directory, 'report.json'));
    const specs = report ? report.suites.flatMap(specsOf) : [];
    const results = Object.fromEntries(specs.map((spec) => [spec.title, spec.tests.flatMap((test) => test.results)]));
    const { expected = 0, unexpected = 0, flaky = 0, skipped = 0 } = report?.stats ?? {};
    return {
      exitCode: this.process.exitCode,
      signal: this.process.signalCode,
      output: this.#output,
      results,
      specs,
      stats: { passed: expected, failed: unexpected, flaky, skipped },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) process.kill(-this.pid, 'SIGTERM');
    await this.#exited;
  }
}

/** The environment without the settings of an outer Playwright run or of a user's service. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(TEST_|PLAYWRIGHT_(?!BROWSERS_PATH|POOL_CHROMIUM)|PW|DEBUG|FORCE_COLOR)/;
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name))),
    FORCE_COLOR: '0',
  };
}

function copyTo(directory: string, suite: string): void {
  cpSync(suite, statSync(suite).isDirectory() ? directory : join(directory, basename(suite)), { recursive: true });
}

function configSource(properties: string): string {
  return `
    import { defineConfig } from '@playwright/test';
    export default defineConfig({
      testDir: '.',
      outputDir: 'test-results',
      respectGitIgnore: false,
      reporter: [['line'], ['json'], ['playwright-pool/reporter']],
      workers: 1,
      ${properties}
    });`;
}

function readReport(file: string): JSONReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JSONReport;
  } catch {
    return undefined;
  }
}

function specsOf(suite: JSONReportSuite): JSONReportSpec[] {
  return [...suite.specs, ...(suite.suites ?? []).flatMap(specsOf)];
}
