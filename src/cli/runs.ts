import { Readable } from 'node:stream';
import { Command, Option } from 'commander';
import { runMarkdown, runSummary, runText } from '../client/run-summary.ts';
import type { TestRun } from '../contract/test-runs.ts';
import { wholeNumber } from './command-error.ts';
import { inBytes } from './progress.ts';
import { fileAt, saveBytes } from './save-bytes.ts';
import {
  all,
  examples,
  listCommand,
  printResult,
  serviceCommand,
  type ServiceOptions,
  withClient,
} from './service-command.ts';
import { type Columns, printJSON } from './table.ts';

type WhichOptions = ServiceOptions & { attempt?: number; shards?: number };

const columns: Columns<TestRun> = {
  RUN: 'run',
  ATTEMPT: 'attempt',
  STATE: 'state',
  TESTS: ({ finished, total }) => `${finished}/${total}`,
  FAILED: 'failed',
  FLAKY: 'flaky',
  SHARDS: 'total_shards',
  STARTED: 'started_at',
};

/** The command `runs`. */
export function runsCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('runs')
    .description('List runs of test suites, show their shards and failures, and write their results')
    .addCommand(
      listCommand(
        env,
        'List the runs, newest first',
        columns,
        (client, signal) => client.testRuns.list({ limit: 100 }, { signal }),
        'There are no runs. The option shards of playwright-pool/reporter sends them.',
      ).addHelpText('after', examples('runs list', 'runs list --json')),
    )
    .addCommand(showCommand(env))
    .addCommand(reportCommand(env));
}

function showCommand(env: NodeJS.ProcessEnv): Command {
  return runCommand('show', 'Show a run: its shards, failures, slowest and flaky tests')
    .option('--markdown', "print Markdown, for GitHub's job summary")
    .addHelpText('after', examples('runs show 4711', 'runs show 4711 --markdown >> "$GITHUB_STEP_SUMMARY"'))
    .action((run: string, options: WhichOptions & { markdown?: boolean }) =>
      withClient(options, env, async (client, signal) => {
        const summary = await runSummary(client, run, whichOf(options), { signal });
        if (options.json) printJSON(summary);
        else if (options.markdown) process.stdout.write(runMarkdown(summary));
        else console.log(runText(summary));
      }),
    );
}

function reportCommand(env: NodeJS.ProcessEnv): Command {
  return runCommand('report', 'Write the results of a run as CTRF or JUnit')
    .addOption(
      new Option('--format <format>', 'the format of the report').choices(['ctrf', 'junit']).makeOptionMandatory(),
    )
    .option('-o, --output <path>', 'the file to write, or the directory for it (default: stdout)')
    .addHelpText(
      'after',
      examples('runs report 4711 --format junit', 'runs report 4711 --format ctrf -o ctrf-report.json'),
    )
    .action((name: string, options: WhichOptions & { format: 'ctrf' | 'junit'; output?: string }) =>
      withClient(options, env, async (client, signal) => {
        const { format, output } = options;
        const run = await client.testRuns.retrieve(name, whichOf(options), { signal });
        const { attempt, total_shards } = run;
        const query = { attempt, total_shards, limit: 100 };
        const tests = await all(client.testRuns.tests(name, query, { signal }));
        const { ctrf, junit } = await import('./run-report.ts');
        const text = (format === 'ctrf' ? ctrf : junit)(run, tests);
        if (run.state === 'running') console.error(`The run ${name} is not over: some tests have no result yet.`);
        if (output === undefined) {
          process.stdout.write(text);
          return;
        }
        const file = await fileAt(output, format === 'ctrf' ? 'ctrf-report.json' : 'junit.xml');
        const size = Buffer.byteLength(text);
        await saveBytes({ stream: Readable.from([Buffer.from(text)]), size }, file, `Writing ${file}`, signal);
        printResult(options, { file, bytes: size }, `Wrote ${file} (${inBytes(size)}).`);
      }),
    );
}

function runCommand(name: string, description: string): Command {
  const number = wholeNumber(1, 1_000_000, 'It must be a whole number from 1.');
  return serviceCommand(name, description)
    .argument('<run>', 'name of the run; "runs list" has it')
    .option('--attempt <number>', 'the attempt (default: the last one)', number)
    .option('--shards <number>', 'the number of shards, if several commands have this run', number);
}

function whichOf({ attempt, shards }: WhichOptions) {
  return { attempt, total_shards: shards };
}
