import type { TestRun } from '../../../contract/test-runs.ts';
import { hrefOf, type View, type ViewProps } from '../app/place.browser.ts';
import { numberColumn, stateColumn, timeColumn, titleColumn } from '../ui/columns.browser.tsx';
import { ListView, useList } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import { progressColumn, RunPage, runState } from './run-page.browser.tsx';

/** The view of runs of test suites: their progress, shards and failures. */
export const runs: View = { id: 'runs', title: 'Runs', component: Runs };

function Runs(props: ViewProps) {
  const { run, attempt, shards, project } = props.params;
  if (run) return <RunPage key={`${run} ${attempt} ${shards} ${project}`} {...props.params} run={run} />;
  return <RunList {...props} />;
}

function RunList({ state, params }: ViewProps) {
  const list = useList<TestRun>('/test_runs', params, { offset: params['offset'] }, refreshMs);
  const { project } = params;
  const columns: Column<TestRun>[] = [
    titleColumn('run', 'Run', ({ run, attempt, total_shards }) => ({
      text: run,
      below: attempt > 1 ? `Attempt ${attempt}` : undefined,
      href: hrefOf('runs', { run, attempt: String(attempt), shards: String(total_shards), project }),
    })),
    progressColumn(({ total }) => total),
    numberColumn('shards', 'Shards', ({ total_shards }) => total_shards, { isWide: true, width: '6rem' }),
    numberColumn('failed', 'Failed', ({ failed }) => failed, { isWide: true, width: '6rem' }),
    numberColumn('flaky', 'Flaky', ({ flaky }) => flaky, { isWide: true, width: '6rem' }),
    timeColumn('started', 'Started', ({ started_at }) => started_at),
    stateColumn(runState),
  ];
  return (
    <ListView
      label="Runs"
      list={list}
      columns={columns}
      state={state}
      notFound=""
      none={
        <>
          There are no runs. Set the option <code>shards: 'balanced'</code> of <code>playwright-pool/reporter</code>, so
          that the service divides the tests among the shards.
        </>
      }
    />
  );
}

const refreshMs = 5000;
