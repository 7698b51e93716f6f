import type { ServiceState } from './service-state.ts';
import type { Columns } from './table.ts';
import { tableLines, cut } from './table-lines.ts';
import { printable, styled } from './terminal.ts';

/** The size of a terminal in characters; infinite without one. */
export type Size = { columns: number; rows: number };

type Pool = ServiceState['pools'][number];

const wide = 80;

/** The state of a service as lines of text for `top`. If a list has no room, its last line has the number of the rest. */
export function serviceLines(state: ServiceState, { columns, rows }: Size): string[] {
  const { counts, pools, machines, leases } = state;
  const summary = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  const waits = pools.filter(({ waiting }) => waiting > 0);
  const heads = [
    [summary.join('  ')],
    pools.length === 0 ? ['There are no pools.'] : tableLines(pools, poolColumns),
    waits.map((pool) => `${printable(titleOf(pool))}: ${reason(pool.waiting, pool.wait_reason)}`),
    machines.length === 0 ? [] : tableLines(machines, machineColumns),
  ].filter((block) => block.length > 0);
  // On a small terminal, keep half of the rows for the leases.
  const others = shortened(
    heads
      .map((block) => block.join('\n'))
      .join('\n\n')
      .split('\n'),
    rows / 2,
  );
  const shown = columns < wide ? narrowLeaseColumns : leaseColumns(machines.length > 0);
  const table = leases.length === 0 ? ['No browser is leased.'] : tableLines(leases, shown);
  return [...others, '', ...shortened(table, rows - others.length - 1)].map((line) => cut(line, columns));
}

/** Pools of different engines may have the same name. */
function titleOf({ id, name = id, engine }: Pool): string {
  return engine === undefined || engine === 'chromium' ? name : `${name} (${engine})`;
}

function reason(waiting: number, text: string | undefined): string {
  return text === undefined ? `${waiting} waiting` : printable(text);
}

const poolColumns: Columns<Pool> = {
  POOL: titleOf,
  SIZE: 'size',
  LEASED: 'leased',
  FREE: 'free',
  STARTING: 'starting',
  WAITING: 'waiting',
};

const machineColumns: Columns<ServiceState['machines'][number]> = {
  MACHINE: 'url',
  STATE: 'state',
  SLOTS: 'slots',
  LEASED: 'leased',
  FREE: 'free',
};

type Lease = ServiceState['leases'][number];

const narrowLeaseColumns: Columns<Lease> = {
  LEASE: ({ age_seconds }) => ageOf(age_seconds),
  WORKER: 'worker',
  // The end of a line is cut.
  TEST: ({ test, name, session_id, client }) =>
    `${test ?? name ?? session_id}${client === undefined ? '' : ` (${client})`}`,
};

function leaseColumns(hasMachines: boolean): Columns<Lease> {
  const { LEASE, WORKER, TEST } = narrowLeaseColumns;
  return { LEASE: LEASE!, POOL: 'pool', ...(hasMachines && { MACHINE: 'machine' }), WORKER: WORKER!, TEST: TEST! };
}

/** A duration for people: `1:05` is 1 min 5 s. */
function ageOf(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return hours > 0 ? `${hours}:${padded(minutes)}:${padded(rest)}` : `${minutes}:${padded(rest)}`;
}

function padded(part: number): string {
  return String(part).padStart(2, '0');
}

function shortened(lines: string[], most: number): string[] {
  const limit = Math.max(2, Math.floor(most));
  if (lines.length <= limit) return lines;
  const more = styled(process.stdout, 'dim', `… ${lines.length - limit + 1} more`);
  return [...lines.slice(0, limit - 1), more];
}
