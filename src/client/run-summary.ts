import type { RunTestResult, TestRun } from '../contract/test-runs.ts';
import type { Client } from './client.ts';
import { alignedLines, markdownLink, markdownTable, markdownText } from './text-tables.ts';
import type { CallOptions } from './request.ts';

/** A run, and the tests that people look at first. */
export type RunSummary = {
  run: TestRun;
  /** The first 100. After the end of the run, those without a result, too. */
  failed: RunTestResult[];
  slowest: RunTestResult[];
  /** Those that were flaky in the last 30 runs, most often first. */
  flaky: RunTestResult[];
};

/** A list of a summary: the names of its columns, and its rows. */
export type RunTable = { title: string; head: string[]; rows: string[][] };

const mostFailed = 100;
const mostOthers = 10;

/** Asks the service for the summary of a run, by default of its last attempt. */
export async function runSummary(
  { testRuns }: Pick<Client, 'testRuns'>,
  name: string,
  which: { attempt?: number; total_shards?: number } = {},
  options: CallOptions = {},
): Promise<RunSummary> {
  const run = await testRuns.retrieve(name, which, options);
  // The next attempt may start meanwhile.
  const { attempt, total_shards } = run;
  const first = async (query: NonNullable<Parameters<typeof testRuns.tests>[1]>) => {
    for await (const { items } of testRuns.tests(name, { attempt, total_shards, ...query }, options).pages())
      return items;
    return [];
  };
  const [failed, slowest, flaky] = await Promise.all([
    first({ status: 'failed', limit: mostFailed }),
    first({ order: 'slowest', limit: mostOthers }),
    first({ order: 'flakiest', limit: mostOthers }),
  ]);
  return {
    run,
    failed,
    slowest: slowest.filter(({ duration_ms = 0 }) => duration_ms > 0),
    flaky: flaky.filter(({ flaky_runs = 0 }) => flaky_runs > 0),
  };
}

/** Such as `run 4711, attempt 2: failed`. */
export function runTitle({ run, attempt, state }: TestRun): string {
  return `run ${run}${attempt > 1 ? `, attempt ${attempt}` : ''}: ${state}`;
}

/** The numbers of a run in one line. */
export function runCounts({ finished, total, failed, flaky, skipped }: TestRun): string {
  return `${finished} of ${total} tests finished: ${failed} failed, ${flaky} flaky, ${skipped} skipped`;
}

/** The title of a test with its file and project. */
export function runTestTitle({ file, title, project }: RunTestResult): string {
  return `${[file, ...title].join(' › ')}${project === '' ? '' : ` [${project}]`}`;
}

/** The first line of the error of a test, or the reason why it has none. */
export function runTestError({ error, status }: RunTestResult): string {
  return error?.trim().split('\n', 1)[0] || (status === 'waiting' ? 'no result' : status);
}

/** The shards, the slowest tests and the flaky ones. Empty lists are left out. */
export function runTables({ run, slowest, flaky }: RunSummary): RunTable[] {
  const tables = [
    {
      title: 'Shards',
      head: ['Shard', 'State', 'Finished', 'Failed', 'Taken over', 'Expected', 'Time'],
      rows: run.shards.map((shard) => [
        `${shard.index}/${run.total_shards}`,
        shard.state === 'expected' && run.state !== 'running' ? 'absent' : shard.state,
        `${shard.finished} of ${shard.tests}`,
        String(shard.failed),
        String(shard.taken_over),
        seconds(shard.expected_ms),
        seconds(shardTime(shard, run.updated_at)),
      ]),
    },
    {
      title: 'Slowest tests',
      head: ['Time', 'Usual', 'Test'],
      rows: slowest.map((test) => [seconds(test.duration_ms), seconds(test.usual_ms), runTestTitle(test)]),
    },
    {
      title: 'Flaky in the last 30 runs',
      head: ['Runs', 'Test'],
      rows: flaky.map((test) => [String(test.flaky_runs), runTestTitle(test)]),
    },
  ];
  return tables.filter(({ rows }) => rows.length > 0);
}

/**
 * The summary for a terminal, without control characters. The short form has ten failures with the first lines of their
 * errors, and five slow and flaky tests.
 */
export function runText(summary: RunSummary, { isShort = false } = {}): string {
  const { run, failed, slowest, flaky } = summary;
  const [mostFailures, most] = isShort ? [10, 5] : [mostFailed, mostOthers];
  const shown = failed.slice(0, mostFailures);
  const more = Math.max(run.failed, failed.length) - shown.length;
  const failures = shown.flatMap((test) => failureLines(test, isShort));
  const tables = runTables({ ...summary, slowest: slowest.slice(0, most), flaky: flaky.slice(0, most) });
  const parts = [
    [`${runTitle(run)}, ${runCounts(run)}`],
    [...failures, ...(more > 0 ? [`${more} more failed.`] : [])],
    ...tables.map(tableLines),
  ];
  const lines = parts.filter((part) => part.length > 0).map((part) => part.map(oneLine).join('\n'));
  return lines.join('\n\n');
}

/** The summary as Markdown, for GitHub's job summary. */
export function runMarkdown(summary: RunSummary): string {
  const { run, failed } = summary;
  const failures = failed.map((test) => [
    markdownText(runTestTitle(test)),
    String(test.shard),
    markdownText(runTestError(test)),
    markdownLink('replay', test.replay_url),
    markdownText(test.trace ?? ''),
  ]);
  const more = run.failed - failed.length;
  const parts = [
    `### Test ${markdownText(runTitle(run))}`,
    runCounts(run),
    ...(failed.length > 0 ? [markdownTable(['Failed test', 'Shard', 'Error', 'Replay', 'Trace'], failures)] : []),
    ...(more > 0 ? [`${more} more failed.`] : []),
    ...runTables(summary).flatMap(({ title, head, rows }) => [
      `**${title}**`,
      markdownTable(
        head,
        rows.map((cells) => cells.map(markdownText)),
      ),
    ]),
  ];
  return `${parts.join('\n\n')}\n\n`;
}

/** How long a shard has run, in ms. `undefined` if nobody knows. */
function shardTime({ state, started_at, ended_at }: TestRun['shards'][number], now: string): number | undefined {
  const end = ended_at ?? (state === 'running' ? now : undefined);
  return started_at === undefined || end === undefined ? undefined : Date.parse(end) - Date.parse(started_at);
}

function failureLines(test: RunTestResult, isShort: boolean): string[] {
  const { status, shard, error = '', replay_url, trace } = test;
  const details = [
    isShort ? runTestError(test) : error.trim(),
    replay_url && `replay: ${replay_url}`,
    trace && `trace: ${trace}`,
  ];
  const lines = details.flatMap((detail) => (detail ? detail.split('\n') : []));
  const head = `${runTestTitle(test)} (${status === 'waiting' ? 'no result' : status}, shard ${shard})`;
  return [head, ...lines.map((line) => `    ${line}`)];
}

/** The title and the aligned columns. The last column may have characters of any width. */
function tableLines({ title, head, rows }: RunTable): string[] {
  return [`${title}:`, ...alignedLines([head.map((name) => name.toUpperCase()), ...rows])];
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}

function seconds(ms: number | null | undefined): string {
  return typeof ms === 'number' ? `${(ms / 1000).toFixed(1)} s` : '';
}
