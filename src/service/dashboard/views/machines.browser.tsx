import type { MachineState } from '../../../contract/dashboard-events.ts';
import { hrefOf } from '../app/place.browser.ts';
import type { View, ViewProps } from '../app/view.browser.ts';
import { Bar } from '../ui/bar.browser.tsx';
import { machineName } from '../ui/format.browser.ts';
import { Table, type Column } from '../ui/table.browser.tsx';

/** The view of the machines on which sessions run. */
export const machines: View = { id: 'machines', title: 'Machines', component: Machines };

const states = {
  up: ['Up', 'good'],
  silent: ['No answer', 'bad'],
  draining: ['Draining', 'warn'],
} as const;

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
  {
    id: 'state',
    title: 'State',
    width: '8.5rem',
    sort: ({ state }) => state,
    cell: ({ state }) => (
      <span class="badge" data-tone={states[state][1]}>
        {states[state][0]}
      </span>
    ),
  },
  {
    id: 'use',
    title: 'Use',
    isWide: true,
    width: '14rem',
    cell: ({ state, leased, free, slots }) =>
      state === 'silent' ? (
        <span class="quiet">unknown</span>
      ) : (
        <Bar
          parts={[
            { kind: 'leased', count: leased },
            { kind: 'free', count: free },
          ]}
          size={slots ?? leased + free}
        />
      ),
  },
  {
    id: 'leased',
    title: 'Leased',
    isNumber: true,
    width: '5.25rem',
    sort: ({ leased }) => leased,
    cell: ({ leased }) => leased,
  },
  {
    id: 'free',
    title: 'Free',
    isNumber: true,
    isWide: true,
    width: '5rem',
    sort: ({ free }) => free,
    cell: ({ free }) => free,
  },
  {
    id: 'slots',
    title: 'Slots',
    isNumber: true,
    width: '5rem',
    sort: ({ slots = 0 }) => slots,
    cell: ({ slots }) => slots ?? '–',
  },
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
