import type { MachineState } from '../../../contract/dashboard-events.ts';
import { hrefOf, type View, type ViewProps } from '../app/place.browser.ts';
import { numberColumn, stateColumn, type BadgeProps, Bar } from '../ui/columns.browser.tsx';
import { machineName } from '../ui/format.browser.ts';
import { Table, type Column } from '../ui/table.browser.tsx';

/** The view of the machines on which sessions run. */
export const machines: View = { id: 'machines', title: 'Machines', component: Machines };

const states: Record<MachineState['state'], BadgeProps> = {
  up: { text: 'Up', tone: 'good' },
  silent: { text: 'No answer', tone: 'bad' },
  draining: { text: 'Draining', tone: 'warn' },
};

const columns: Column<MachineState>[] = [
  {
    id: 'machine',
    title: 'Machine',
    sort: ({ id }) => machineName(id),
    cell: ({ id, is_overflow: isOverflow }) => (
      <>
        <a class="title whole" title={id} href={hrefOf('leases', { machine: id, state: 'running' })}>
          {machineName(id)}
        </a>
        {isOverflow && <span class="quiet"> for overflow</span>}
      </>
    ),
  },
  stateColumn(({ state }) => states[state]),
  {
    id: 'use',
    title: 'Use',
    isWide: true,
    width: '14rem',
    cell: ({ state, leased, free, slots }) =>
      state === 'silent' ? (
        <span class="quiet">unknown</span>
      ) : (
        <Bar leased={leased} free={free} size={slots ?? leased + free} />
      ),
  },
  {
    id: 'engines',
    title: 'Engines',
    isWide: true,
    width: '14rem',
    cell: ({ engines }) => (
      <span title={engines.join('\n')}>{engines.map((text) => text.split(' (')[0]).join(', ')}</span>
    ),
  },
  numberColumn('leased', 'Leased', ({ leased }) => leased, { width: '5.25rem' }),
  numberColumn('free', 'Free', ({ free }) => free, { width: '5rem', isWide: true }),
  numberColumn('slots', 'Slots', ({ slots }) => slots, { width: '5rem' }),
];

function Machines({ state, params }: ViewProps) {
  return (
    <>
      <p class="quiet lead">
        {state.service.is_control_plane
          ? 'The machines of this control plane. New sessions start on the machine with the most free slots.'
          : 'Sessions run on the machine of this service.'}
      </p>
      <Table
        label="Machines"
        rows={state.machines}
        columns={columns}
        sort={params['sort']}
        empty="No machine was found. Check the option --machines of the service."
      />
    </>
  );
}
