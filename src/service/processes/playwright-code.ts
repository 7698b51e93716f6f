import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import type { CodeResult, CodeRun } from '../../contract/playwright.ts';
import { runnerPrograms, type RunnerPrograms } from '../chromium/built-program.ts';
import type { Isolation } from '../chromium/isolation.ts';
import { HostChannel } from '../playwright/host-channel.ts';
import type { InstalledPlaywright } from '../playwright/installed-playwright.ts';
import type { Clock } from '../process/clock.ts';
import type { Claim } from '../process/waiting-bytes.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import type { Place, Processes } from './processes.ts';
import { Program } from './program.ts';
import { finished } from './running.ts';
import { directoryIn, environmentIn, home, refuseBeside } from './surroundings.ts';
import { z } from 'zod';

/** The most console output that is kept, for stdout and stderr each, in bytes. */
const mostOutput = 1024 * 1024;
/** The longest result of the code, in bytes of JSON. */
const longestReport = 8 * 1024 * 1024;
/** The deepest result. Above some thousand levels, the service could not write it as JSON again. */
const deepest = 1000;
/** The limit of the JavaScript heap, in MiB. */
const heapMiB = 512;

type Programs = RunnerPrograms & { playwright: string };

/** Runs callers' Playwright code in sessions. Each run has its own process, under the user of the session. */
export class PlaywrightCode {
  readonly #processes: Processes;
  readonly #installed: readonly InstalledPlaywright[];
  readonly #isolation: Isolation;
  readonly #clock: Clock;
  readonly #channel: HostChannel;
  #programs: Promise<Programs> | undefined;

  constructor(options: {
    processes: Processes;
    installed: readonly InstalledPlaywright[];
    isolation: Isolation;
    clock: Clock;
  }) {
    this.#processes = options.processes;
    this.#installed = options.installed;
    this.#isolation = options.isolation;
    this.#clock = options.clock;
    this.#channel = new HostChannel(options.clock);
  }

  /**
   * Runs code as soon as earlier code in the session has ended. If the code throws, the error is in the result. Throws
   * `rate_limited`, `conflict` if the session or its lease ends, and `not_implemented` if Playwright isn't installed.
   * `waiting` counts the output and the result.
   */
  async execute(
    session: LocalSession,
    run: CodeRun,
    { signal, waiting }: { signal: AbortSignal; waiting: Claim },
  ): Promise<CodeResult> {
    refuseBeside(session);
    const { lease } = session;
    const place = this.#processes.take(session);
    const turns = lease.part(this, () => ({ last: Promise.resolve<unknown>(undefined) }));
    const turn = turns.last.then(() =>
      this.#run(session, run, { place, waiting, signal: AbortSignal.any([signal, lease.signal]) }),
    );
    turns.last = turn.catch(() => {});
    return await turn.finally(() => place.leave());
  }

  close(): void {
    this.#channel.close();
  }

  async #run(
    session: LocalSession,
    { code, timeout_sec }: CodeRun,
    { place, waiting, signal }: { place: Place; waiting: Claim; signal: AbortSignal },
  ): Promise<CodeResult> {
    this.#programs ??= this.#findPrograms();
    // After a failure the next call tries again.
    this.#programs.catch(() => (this.#programs = undefined));
    const programs = await this.#programs;
    signal.throwIfAborted();
    const { egress } = session.browser.chromium;
    const { node, runner, playwright, loader } = programs;
    const directory = await directoryIn(session, home);
    const { url, cut } = await this.#channel.open(session, { marksDownloads: false });
    let program: Program | undefined;
    const kill = () => program?.kill();
    try {
      program = await Program.start({
        file: node,
        args: [`--max-old-space-size=${heapMiB}`, runner],
        directory,
        environment: environmentIn(session),
        user: session.isolatedUser?.user,
        namespaces: await place.openNamespaces(),
        hasInput: false,
        hasChannel: true,
      });
      place.started(program);
      program.killRestAtEnd();
      signal.addEventListener('abort', kill);
      // It may have aborted while the program started.
      if (signal.aborted) kill();
      egress.allowProcessGroup(program.pid);
      const task: CodeTask = {
        code,
        cdpUrl: url,
        pageTargets: session.browser.page.openedTargetIds,
        playwright,
        proxyUrl: await egress.localProxyUrl(),
        ...(loader && { loader }),
      };
      return await this.#resultOf(program, task, { timeoutSeconds: timeout_sec, waiting, signal });
    } finally {
      signal.removeEventListener('abort', kill);
      cut();
    }
  }

  async #resultOf(
    program: Program,
    task: CodeTask,
    { timeoutSeconds, waiting, signal }: { timeoutSeconds: number; waiting: Claim; signal: AbortSignal },
  ): Promise<CodeResult> {
    let isLate = false;
    const cancel = this.#clock.after(timeoutSeconds * 1000, () => {
      isLate = true;
      program.kill();
    });
    let failure: OperationError | undefined;
    waiting.onRefused = (error) => {
      failure ??= error;
      program.kill();
    };
    let kept = 0;
    const keep = (data: Buffer) => {
      try {
        if (failure) return false;
        waiting.take(data.length);
        kept += data.length;
        return true;
      } catch (error) {
        failure = error as OperationError;
        program.kill();
        return false;
      }
    };
    try {
      const { stdout: out, stderr: err } = program.outputs;
      const [stdout, stderr] = [keptOutput(out, keep), keptOutput(err, keep)];
      const reported = reportOn(program, task, keep);
      const exitCode = await finished(program);
      signal.throwIfAborted();
      program.channel?.destroy();
      const report = await reported;
      if (failure) throw failure;
      const output = { stdout: stdout.text(), stderr: stderr.text() };
      if (isLate) return { success: false, error: `Execution timed out after ${timeoutSeconds * 1000}ms`, ...output };
      if (report && 'result' in report) return { success: true, result: report.result ?? null, ...output };
      const { message, stack } = report?.failure ?? {
        message:
          exitCode === -1
            ? 'the process of the code was killed before it returned a result: it may have used too much memory'
            : `the code ended its process with exit code ${exitCode} before it returned a result: don't call process.exit`,
        stack: '',
      };
      return { success: false, error: message, stdout: output.stdout, stderr: output.stderr + stack };
    } finally {
      cancel();
      waiting.onRefused = undefined;
      // The answer counts its own bytes.
      waiting.release(kept);
    }
  }

  async #findPrograms(): Promise<Programs> {
    const [installed] = this.#installed;
    if (!installed) {
      const advice = 'run "npm install @playwright/test" beside playwright-pool on the machine of the service';
      throw new OperationError(
        'not_implemented',
        `running code needs Playwright, which this service does not have: ${advice}`,
      );
    }
    const { directory } = installed;
    const manifest = await this.#isolation.program(path.join(directory, 'package.json'), directory);
    const programs = await runnerPrograms(this.#isolation, 'processes/code-runner.js');
    return { ...programs, playwright: path.dirname(manifest) };
  }
}

/** Sends the task to the process. Resolves to its report, or to `undefined` if it ends without a valid one. */
async function reportOn(
  program: Program,
  task: CodeTask,
  keep: (data: Buffer) => boolean,
): Promise<CodeReport | undefined> {
  const channel = program.channel!;
  channel.write(`${JSON.stringify(task)}\n`);
  const chunks: Buffer[] = [];
  let size = 0;
  channel.on('data', (data: Buffer) => {
    size += data.length;
    if (size > longestReport) program.kill();
    else if (keep(data)) chunks.push(data);
  });
  await new Promise<void>((resolve) => channel.once('close', resolve));
  const report = Buffer.concat(chunks);
  if (depthOf(report) > deepest)
    return { failure: { message: `the result is nested more than ${deepest} levels deep: return a flatter one`, stack: '' } }; // prettier-ignore
  try {
    return codeReport.safeParse(JSON.parse(report.toString())).data;
  } catch {
    return undefined;
  }
}

/** How deep objects and arrays are nested in a JSON text. */
function depthOf(json: Buffer): number {
  let depth = 0;
  let most = 0;
  let isInText = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (isInText && character === backslash) index += 1;
    else if (character === quote) isInText = !isInText;
    else if (!isInText && (character === openBrace || character === openBracket)) most = Math.max(most, (depth += 1));
    else if (!isInText && (character === closeBrace || character === closeBracket)) depth -= 1;
  }
  return most;
}

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = Buffer.from('"\\{}[]');

type Kept = { text(): string };

/** Keeps the beginning of an output, and drops the rest. */
function keptOutput(stream: Program['outputs']['stdout'], keep: (data: Buffer) => boolean): Kept {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (data: Buffer) => {
    if (size < mostOutput && keep(data)) chunks.push(data.subarray(0, mostOutput - size));
    size += data.length;
  });
  return { text: () => Buffer.concat(chunks).toString() + (size > mostOutput ? '\n[the rest was dropped]\n' : '') };
}

/** The line of JSON that the service sends to the process which runs Playwright code. */
export type CodeTask = {
  code: string;
  cdpUrl: string;
  /** The targets of the session's pages, in the order in which they were opened. */
  pageTargets: string[];
  /** The directory of playwright-core. */
  playwright: string;
  /** The proxy for requests that the code sends itself. */
  proxyUrl: string;
  /** The file of jiti, which transforms TypeScript. */
  loader?: string;
};

/** The line of JSON that the process sends back. Always check it: the caller's code runs there and can write any line. */
const codeReport = z.union([
  z.strictObject({ result: z.unknown() }),
  z.strictObject({ failure: z.strictObject({ message: z.string(), stack: z.string() }) }),
]);

export type CodeReport = z.output<typeof codeReport>;
