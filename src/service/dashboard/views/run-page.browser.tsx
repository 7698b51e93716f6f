import type { RunTestResult, TestRun } from '../../../contract/test-runs.ts';
import { call, listPage } from '../app/api.browser.ts';
import { hrefOf } from '../app/place.browser.ts';
import {
  Badge,
  Bar,
  Figures,
  numberColumn,
  stateColumn,
  titleColumn,
  type BadgeProps,
} from '../ui/columns.browser.tsx';
import { counted, duration } from '../ui/format.browser.ts';
import { Failed, listPath, useLoaded } from '../ui/list-view.browser.tsx';
import { Table, type Column } from '../ui/table.browser.tsx';
import { Age, Moment } from '../ui/time.browser.tsx';

type Shard = TestRun['shards'][number];
type Loaded = { run: TestRun; failed: RunTestResult[]; slowest: RunTestResult[]; flaky: RunTestResult[] };
type Props = { run: string; attempt?: string; shards?: string; project?: string };

const refreshMs = 3000;
const mostFailed = 100;
const mostOthers = 10;

/** The page of a run: its progress, shards, failures, slowest and flaky tests. */
export function RunPage(props: Props) {
  const { value, error, reload } = useLoaded((signal) => load(props, signal), [], refreshMs);
  if (error !== undefined) return <Failed error={error} onRetry={reload} />;
  if (!value) return <p class="empty">Loading…</p>;
  const { run, failed, slowest, flaky } = value;
  const figures = {
    Tests: run.total,
    Finished: run.finished,
    Failed: run.failed,
    Flaky: run.flaky,
    Skipped: run.skipped,
  };
  return (
    <div class="stack">
      <div class="toolbar">
        <a class="button" href={hrefOf('runs', { project: props.project })}>
          Back
        </a>
        <h2 class="title">
          {run.run}
          {run.attempt > 1 && `, attempt ${run.attempt}`}
        </h2>
        <span class="badge" role="status" data-tone={runState(run).tone}>
          {run.state}
        </span>
        <p class="quiet">
          Started <Moment at={run.started_at} />
        </p>
      </div>
      <div class="card pool">
        <Bar size={run.total} good={run.finished - run.failed} bad={run.failed} />
        <Figures figures={figures} />
      </div>
      <h2>Shards</h2>
      <Table label="Shards" rows={run.shards} columns={shardColumns(run)} empty="No shard has come." />
      {failed.length > 0 && (
        <>
          <h2>Failed tests</h2>
          <ul class="stack" aria-label="Failed tests">
            {failed.map((test) => (
              <Failure key={test.id} test={test} />
            ))}
          </ul>
          {failed.length === mostFailed && <p class="quiet">These are the first {mostFailed} failed tests.</p>}
        </>
      )}
      <h2>Slowest tests</h2>
      <Table label="Slowest tests" rows={slowest} columns={slowColumns} empty="No test has finished." />
      <h2>Flaky tests</h2>
      <Table label="Flaky tests" rows={flaky} columns={flakyColumns} empty="No test was flaky in the last 30 runs." />
    </div>
  );
}

/** The column with the number of finished tests, as a bar and a text. */
export function progressColumn<T extends { finished: number; failed: number }>(totalOf: (row: T) => number): Column<T> {
  const cell = (row: T) => (
    <>
      <Bar size={totalOf(row)} good={row.finished - row.failed} bad={row.failed} />
      <small class="clip">
        {row.finished} of {counted(totalOf(row), 'test')}
      </small>
    </>
  );
  return { id: 'progress', title: 'Progress', width: '9rem', cell };
}

export function runState({ state }: TestRun): BadgeProps {
  return { text: state, tone: { running: '', passed: 'good', failed: 'bad', incomplete: 'warn' }[state] };
}

async function load({ run, attempt, shards, project }: Props, signal: AbortSignal): Promise<Loaded> {
  const path = `/test_runs/${encodeURIComponent(run)}`;
  const which = { attempt, total_shards: shards };
  const options = { project, signal };
  const tests = async (query: Record<string, string | number>) => {
    const { items } = await listPage<RunTestResult>(listPath(`${path}/tests`, { ...which, ...query }), options);
    return items;
  };
  const [loaded, failed, slowest, flaky] = await Promise.all([
    call<TestRun>('GET', listPath(path, { ...which, limit: undefined }), options),
    tests({ status: 'failed', limit: mostFailed }),
    tests({ order: 'slowest', limit: mostOthers }),
    tests({ order: 'flakiest', limit: mostOthers }),
  ]);
  return {
    run: loaded,
    failed,
    slowest: slowest.filter(({ duration_ms = 0 }) => duration_ms > 0),
    flaky: flaky.filter(({ flaky_runs = 0 }) => flaky_runs > 0),
  };
}

function Failure({ test }: { test: RunTestResult }) {
  const { title, status, shard, error, replay_url, trace } = test;
  return (
    <li class="card pool">
      <div class="toolbar">
        <h3>{title.join(' › ')}</h3>
        <Badge text={status === 'waiting' ? 'no result' : status} tone="bad" />
        {replay_url !== undefined && /^https?:/.test(replay_url) && (
          <a href={replay_url} target="_blank" rel="noreferrer">
            Replay<span class="unseen"> of {title.at(-1)} (opens the player in a new tab)</span>
          </a>
        )}
      </div>
      <small>
        {placeOf(test)}, shard {shard}
      </small>
      {error !== undefined && <pre class="error">{error}</pre>}
      {trace !== undefined && (
        <small>
          Trace on the machine of the shard: <code>{trace}</code>
        </small>
      )}
    </li>
  );
}

function shardColumns(run: TestRun): Column<Shard>[] {
  const times = run.shards.map((shard) => timeOf(shard, run) ?? 0);
  const longest = Math.max(...times, ...run.shards.map(({ expected_ms }) => expected_ms ?? 0));
  return [
    titleColumn('shard', 'Shard', ({ index, workers }) => ({
      text: `${index} of ${run.total_shards}`,
      below: workers === undefined ? undefined : counted(workers, 'worker'),
    })),
    progressColumn(({ tests }) => tests),
    numberColumn('failed', 'Failed', ({ failed }) => failed, { isWide: true, width: '5rem' }),
    numberColumn('taken', 'Taken over', ({ taken_over }) => taken_over, { isWide: true, width: '6.5rem' }),
    {
      id: 'time',
      title: 'Time',
      width: '9rem',
      isWide: true,
      cell: (shard) => {
        const time = timeOf(shard, run);
        if (time === undefined) return '–';
        return (
          <>
            <Bar size={longest} leased={time} />
            <small>{shard.state === 'running' ? <Age since={Date.parse(shard.started_at!)} /> : testTime(time)}</small>
          </>
        );
      },
    },
    {
      id: 'expected',
      title: 'Expected',
      width: '9rem',
      isExtra: true,
      cell: ({ expected_ms }) =>
        expected_ms === null ? (
          '–'
        ) : (
          <>
            <Bar size={longest} expected={expected_ms} />
            <small>{testTime(expected_ms)}</small>
          </>
        ),
    },
    stateColumn(({ state }) => {
      if (state === 'expected')
        return run.state === 'running' ? { text: state, tone: '' } : { text: 'absent', tone: 'warn' };
      return { text: state, tone: { running: 'good', ended: '', lost: 'bad' }[state] };
    }),
  ];
}

const testColumn = titleColumn<RunTestResult>('test', 'Test', (test) => ({
  text: test.title.join(' › '),
  below: placeOf(test),
}));

const slowColumns: Column<RunTestResult>[] = [
  testColumn,
  numberColumn('time', 'Time', ({ duration_ms }) => duration_ms, { textOf: testTime }),
  numberColumn('usual', 'Usual', ({ usual_ms }) => usual_ms, { textOf: testTime, isWide: true }),
];

const flakyColumns: Column<RunTestResult>[] = [
  testColumn,
  numberColumn('runs', 'Flaky in', ({ flaky_runs }) => flaky_runs, { textOf: (count) => counted(count, 'run') }),
];

function placeOf({ file, project }: RunTestResult): string {
  return [file, project].filter(Boolean).join(' · ');
}

/** How long a shard has run, in ms. `undefined` if nobody knows. */
function timeOf({ state, started_at, ended_at }: Shard, { updated_at }: TestRun): number | undefined {
  const end = ended_at ?? (state === 'running' ? updated_at : undefined);
  return started_at === undefined || end === undefined ? undefined : Date.parse(end) - Date.parse(started_at);
}

function testTime(ms: number): string {
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms);
}
