import type { DashboardState } from '../../../contract/dashboard-events.ts';
import { setParams, type View, type ViewProps } from '../app/place.browser.ts';
import { Age } from '../ui/time.browser.tsx';
import { stateColumn, textColumn, titleColumn } from '../ui/columns.browser.tsx';
import { Choice, Filter } from '../ui/toolbar.browser.tsx';
import { counted, duration, machineName, search } from '../ui/format.browser.ts';
import { leasesOf, namesOf, stateOf, type Lease } from '../ui/leases.browser.ts';
import { Table, type Column } from '../ui/table.browser.tsx';
import { LeaseDetails } from './lease-details.browser.tsx';

/** The view of running and ended leases: each is a browser that a test or another caller uses or used. */
export const leases: View = { id: 'leases', title: 'Leases', component: Leases };

const states = [
  ['', 'Running and ended'],
  ['running', 'Running'],
  ['ended', 'Ended'],
] as const;

function Leases({ state, params }: ViewProps) {
  const all = leasesOf(state);
  const fitting = all
    .filter(({ endedAt }) => !params['state'] || (params['state'] === 'running') === (endedAt === undefined))
    .filter(({ machine }) => !params['machine'] || (machine ?? 'local') === params['machine']);
  const shown = search(params['q'] ?? '', fitting, namesOf, ({ run, worker, client, machine, pool, tags = {} }) => [
    run,
    client,
    worker,
    machine,
    pool?.name,
    ...Object.values(tags),
  ]);
  const opened = all.find(({ id }) => id === params['session']);
  return (
    <>
      <div class="toolbar">
        <Filter label="Filter by test, file, run, worker, pool or machine" value={params['q']} />
        <Choice
          label="State"
          value={params['state'] ?? ''}
          options={states}
          onChange={(value) => setParams({ state: value })}
        />
        {params['machine'] && (
          <button type="button" onClick={() => setParams({ machine: undefined })}>
            {machineName(params['machine'])} ✕<span class="unseen"> Show all machines</span>
          </button>
        )}
        <p class="quiet">{counted(shown.length, 'lease')}</p>
      </div>
      <Table
        label="Leases"
        rows={shown}
        columns={columnsOf(state)}
        sort={params['sort']}
        empty={all.length === 0 ? 'No browser was leased yet.' : 'No lease fits the filter.'}
      />
      {opened && <LeaseDetails lease={opened} state={state} />}
    </>
  );
}

function columnsOf({ machines, service }: DashboardState): (Column<Lease> | false)[] {
  const projects = new Map(service.projects.map(({ id, name }) => [id, name] as const));
  return [
    titleColumn('test', 'Test', ({ id, title, file, client }) => ({
      text: title,
      below: file ?? client,
      href: `#session=${id}`,
      onClick: openOf(id),
    })),
    projects.size > 1 &&
      textColumn('project', 'Project', ({ project_id }) => projects.get(project_id) ?? project_id, {
        isExtra: true,
        width: '9rem',
      }),
    textColumn('pool', 'Pool', ({ pool }) => pool?.name ?? pool?.id, { isWide: true, width: '9rem' }),
    textColumn('worker', 'Worker', ({ worker }) => worker, {
      isWide: true,
      isNumber: true,
      width: '5.5rem',
      sort: ({ worker = '' }) => (/^\d+$/.test(worker) ? Number(worker) : worker),
    }),
    textColumn('run', 'Run', ({ run }) => run, { isExtra: true, width: '9rem' }),
    (machines.length > 1 || service.is_control_plane) &&
      textColumn('machine', 'Machine', ({ machine }) => machineName(machine), { isWide: true, width: '11rem' }),
    {
      id: 'age',
      title: 'Leased for',
      isNumber: true,
      width: '7rem',
      // People look for the longest leases, so these come first.
      sort: ({ startedAt, endedAt = Infinity }) => (endedAt === Infinity ? -startedAt : endedAt - startedAt),
      cell: ({ startedAt, endedAt }) =>
        endedAt === undefined ? <Age since={startedAt} /> : duration(endedAt - startedAt),
    },
    stateColumn(stateOf, { width: '9.75rem' }),
  ];
}

function openOf(id: string): (event: Event) => void {
  return (event) => {
    event.preventDefault();
    setParams({ session: id });
  };
}
