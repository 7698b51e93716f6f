import { useMemo } from 'preact/hooks';
import type { AuditLog } from '../../../contract/audit-logs.ts';
import { go, setParams, type View, type ViewProps } from '../app/place.browser.ts';
import { serviceNow } from '../app/store.browser.ts';
import { numberColumn, stateColumn, textColumn, type BadgeProps } from '../ui/columns.browser.tsx';
import { ListView, Paging, useList } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import { Choice } from '../ui/toolbar.browser.tsx';
/** The view of audit records: the requests that the service answered. */
export const audit: View = {
  id: 'audit',
  title: 'Audit',
  isSearchable: true,
  isForOrganization: true,
  component: Audit,
};

const hour = 3_600_000;
const periods = [
  ['1', 'Last hour'],
  ['24', 'Last 24 hours'],
  ['168', 'Last 7 days'],
  ['720', 'Last 30 days'],
] as const;
const usualPeriod = periods[1];
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

function Audit({ params }: ViewProps) {
  const { q, sort, method, before } = params;
  // A person may have edited the URL.
  const [hours] = periods.find(([value]) => value === params['hours']) ?? usualPeriod;
  // Computed once per search, because a new end of the period would start another search.
  const end = useMemo(() => serviceNow(), [q, method, hours, before]);
  const period = { start: new Date(end - Number(hours) * hour).toISOString(), end: new Date(end + 1000).toISOString() };
  const list = useList<AuditLog>('/audit-logs', { q, sort }, { ...period, search: q, method, page_token: before });
  const { page } = list;
  const nothing = before
    ? 'There are no older records in this period.'
    : 'No request fits. Choose a longer period, or search for less.';
  return (
    <ListView
      label="Audit records"
      search="Search by path, caller, address or status"
      list={list}
      columns={columns}
      notFound={nothing}
      none={nothing}
      tools={
        <>
          <Choice
            label="Period"
            value={hours}
            options={periods}
            onChange={(value) => setParams({ hours: value, before: undefined })}
          />
          <Choice
            label="Method"
            value={method ?? ''}
            options={[['', 'All methods'], ...methods.map((name) => [name, name] as const)]}
            onChange={(value) => setParams({ method: value, before: undefined })}
          />
        </>
      }
      paging={
        (before || page?.nextPageToken) && (
          <Paging
            text={before ? 'Older records' : 'Newest records'}
            {...(before && { onNewer: () => history.back() })}
            {...(page?.nextPageToken && { onOlder: () => go('audit', { ...params, before: page.nextPageToken }) })}
          />
        )
      }
    />
  );
}

const columns: Column<AuditLog>[] = [
  textColumn('time', 'Time', ({ timestamp }) => dateText(timestamp), {
    width: '14rem',
    isWide: true,
    sort: ({ timestamp }) => timestamp,
  }),
  {
    id: 'request',
    title: 'Request',
    sort: ({ path }) => path,
    cell: ({ method, path, count }) => (
      <span class="clip" title={`${method} ${path}`}>
        <strong>{method}</strong> {path}
        {count !== undefined && ` (${count} requests)`}
      </span>
    ),
  },
  stateColumn(statusOf, { id: 'status', title: 'Status', width: '5.5rem' }),
  {
    id: 'caller',
    title: 'Caller',
    isWide: true,
    width: '12rem',
    sort: ({ email }) => email,
    cell: ({ email, client_ip, user_agent }) => (
      <>
        <span class="clip" title={email}>
          {email || 'No key'}
        </span>
        <small class="clip" title={`${client_ip} ${user_agent}`}>
          {client_ip} {user_agent}
        </small>
      </>
    ),
  },
  numberColumn('duration', 'Time taken', ({ duration_ms }) => duration_ms, {
    textOf: (ms) => `${ms} ms`,
    isWide: true,
  }),
];

function dateText(timestamp: string): string {
  return new Date(timestamp).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

function statusOf({ status }: AuditLog): BadgeProps {
  return { text: String(status), tone: status >= 500 ? 'bad' : status >= 400 ? 'warn' : '' };
}
