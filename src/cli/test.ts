import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { ciRun } from '../client/ci-run.ts';
import { ServiceError } from '../client/errors.ts';
import type { Client } from '../client/index.ts';
import type { PassOutcome, TestPass } from '../contract/test-pass.ts';
import { newId } from '../service/process/id.ts';
import { wholeNumber } from './command-error.ts';
import { ifKilled } from './if-killed.ts';
import { type CommandEnd, exitLike, runWithOurStreams } from './inherited-command.ts';
import { interruptible } from './interruption.ts';
import { playwrightProgram } from './playwright-tools.ts';
import { examples } from './service-command.ts';
import { counted } from './terminal.ts';

type TestOptions = { run?: string; lastFailed?: boolean; wait: number };

type Claim = NonNullable<TestPass['claim']>;

/** The longest wait of one request for tests, in seconds. */
const waitSeconds = 30;
/** The pause after a request that failed, in ms. */
const retryMs = 2000;

const notes = `
All other arguments are those of "playwright test". The reporters must contain playwright-pool/reporter. With the option shards: 'balanced' of
the reporter, "playwright test --shard" divides the tests in the same way.

The service is that of PLAYWRIGHT_POOL_BASE_URL, or of pool.service in the config. Without it, Playwright divides the tests.
The other shards' tests run in further starts of Playwright, each with a blob report beside the first one: "playwright merge-reports" needs
all of them. --last-failed asks the service if PLAYWRIGHT_POOL_BASE_URL is set and the run has a name, and Playwright otherwise.

The exit code is that of Playwright, or the worst one of several starts.`;

/** The command `test`. */
export function testCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('test')
    .description("Run Playwright's tests as a shard that ends with the others, and take over tests of lost shards")
    .argument('[arguments...]', 'arguments of "playwright test"')
    .option(
      '--run <name>',
      'name that all shards of the run have in common (default: PLAYWRIGHT_POOL_RUN, else that of the CI)',
    )
    .option('--last-failed', 'run the tests that failed or have no result in the attempt before, on any machine')
    .option(
      '--wait <seconds>',
      'how long to wait for other shards at the end; a shard that has not come by then is absent, and 0 takes over no tests',
      wholeNumber(0, 86_400, 'It must be a number of seconds from 0 to 86400.'),
      300,
    )
    .allowUnknownOption()
    .addHelpText(
      'after',
      `${examples('test --shard 3/8', 'test --shard 3/8 --reporter blob,playwright-pool/reporter', 'test --shard 3/8 --last-failed')}\n${notes}`,
    )
    .action(async (words: string[], options: TestOptions) => {
      const directory = await mkdtemp(join(tmpdir(), 'playwright-pool-test-'));
      // Playwright's processes leave the key of the service there.
      const guard = ifKilled(['rm', '-rf', directory]);
      guard.arm();
      try {
        exitLike(await new Passes({ words, options, env, directory }).run());
      } finally {
        await rm(directory, { recursive: true, force: true });
        guard.end();
      }
    });
}

/** The starts of Playwright of one shard: the first one, and those that take over tests. */
class Passes {
  readonly #words: string[];
  readonly #options: TestOptions;
  readonly #env: NodeJS.ProcessEnv;
  readonly #directory: string;
  #count = 0;

  constructor(made: { words: string[]; options: TestOptions; env: NodeJS.ProcessEnv; directory: string }) {
    this.#words = made.words;
    this.#options = made.options;
    this.#directory = made.directory;
    this.#env = { ...made.env, ...(made.options.run !== undefined && { PLAYWRIGHT_POOL_RUN: made.options.run }) };
  }

  async run(): Promise<CommandEnd> {
    const { lastFailed = false, wait } = this.#options;
    const rerun = lastFailed && Boolean(this.#env['PLAYWRIGHT_POOL_BASE_URL']) && ciRun(this.#env) !== undefined;
    // A rerun may have no test for this shard.
    const args = rerun ? ['--pass-with-no-tests'] : lastFailed ? ['--last-failed'] : [];
    const { end, outcome } = await this.#start({ rerun }, args);
    if (!outcome || outcome.isStopped || outcome.shard.total === 1 || wait === 0) return end;
    if (outcome.blobDirectory === undefined) {
      console.error(
        'playwright-pool: tests of lost shards are not taken over, because there is no blob report to merge',
      );
      return end;
    }
    const ends = [end];
    await interruptible((signal) => this.#takeOver(outcome, ends, signal));
    return ends.reduce((worst, other) => (exitCode(other) > exitCode(worst) ? other : worst));
  }

  /** Runs tests of lost shards until there are none, or until other shards have taken `--wait` longer than this one. */
  async #takeOver(first: PassOutcome, ends: CommandEnd[], signal: AbortSignal): Promise<void> {
    const { createClient } = await import('../client/index.ts');
    const client = createClient(first.service);
    const { wait } = this.#options;
    let deadline = performance.now() + wait * 1000;
    try {
      for (;;) {
        const left = Math.ceil((deadline - performance.now()) / 1000);
        if (left < 0) {
          console.log(`playwright-pool: other shards still run after ${wait} s: not waiting for them`);
          return;
        }
        const member = newId();
        const answer = await this.#claim(client, first, member, Math.min(waitSeconds, left), signal);
        if (answer?.state === 'complete') return;
        if (answer?.state !== 'tests') continue;
        const { run, attempt, heartbeatMs } = first;
        const tests = answer.tests.map(({ id }) => id);
        console.log(
          `\nplaywright-pool: takes over ${counted(tests.length, 'test')} of shards that were lost or did not come`,
        );
        ends.push(await this.#runClaim({ run, attempt, heartbeatMs, member, tests }, first, client));
        deadline = performance.now() + wait * 1000;
      }
    } finally {
      await client.close();
    }
  }

  /** `undefined` if the service doesn't answer. @throws ServiceError if it refuses. */
  async #claim(client: Client, first: PassOutcome, member: string, seconds: number, signal: AbortSignal) {
    const { run, attempt, shard, workers } = first;
    const claim = { attempt, member, shard, workers, wait_seconds: seconds, absent_after_seconds: this.#options.wait };
    try {
      return await client.testRuns.claim(run, claim, { signal, timeout: (seconds + waitSeconds) * 1000 });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ServiceError && error.status < 500) throw error;
      await sleep(retryMs, undefined, { signal });
      return undefined;
    }
  }

  /** Runs claimed tests, and puts their blob report beside the first one. */
  async #runClaim(claim: Claim, first: PassOutcome, client: Client): Promise<CommandEnd> {
    const blob = join(this.#directory, `${claim.member}.zip`);
    const output = join(first.outputDir, `taken-over-${this.#count}`);
    // Reports that can't be merged would replace those of the first pass.
    const args = ['--reporter=blob,playwright-pool/reporter', `--output=${output}`];
    // Until the reporter of the new pass reports: a web server may take minutes to start.
    const beat = setInterval(
      () => void client.testRuns.report(claim.run, { member: claim.member }).catch(() => undefined),
      claim.heartbeatMs,
    );
    try {
      const { end } = await this.#start({ rerun: false, claim }, args, { PLAYWRIGHT_BLOB_OUTPUT_FILE: blob });
      // The reporter renames the report if other shards have the tests meanwhile.
      if (end.signal === null && existsSync(blob)) {
        await mkdir(first.blobDirectory!, { recursive: true });
        await copyFile(blob, join(first.blobDirectory!, `taken-over-${claim.member}.zip`));
      }
      return end;
    } finally {
      clearInterval(beat);
    }
  }

  async #start(
    pass: TestPass,
    args: string[],
    variables: NodeJS.ProcessEnv = {},
  ): Promise<{ end: CommandEnd; outcome: PassOutcome | undefined }> {
    const directory = join(this.#directory, String(++this.#count));
    await mkdir(directory);
    await writeFile(join(directory, 'pass.json'), JSON.stringify(pass));
    const words = [...this.#words];
    // Before arguments that aren't options.
    words.splice(words.includes('--') ? words.indexOf('--') : words.length, 0, ...args);
    const env = { ...this.#env, ...variables, PLAYWRIGHT_POOL_PASS: directory };
    const end = await runWithOurStreams([...playwrightProgram(), 'test', ...words], env);
    const text = await readFile(join(directory, 'outcome.json'), 'utf8').catch(() => undefined);
    return { end, outcome: text === undefined ? undefined : (JSON.parse(text) as PassOutcome) };
  }
}

function exitCode({ code, signal }: CommandEnd): number {
  return signal === null ? (code ?? 0) : 128 + constants.signals[signal];
}
