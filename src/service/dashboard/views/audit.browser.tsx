import { useMemo } from 'preact/hooks';
import type { AuditLog } from '../../../contract/audit-logs.ts';
import { go, setParams } from '../app/place.browser.ts';
import { serviceNow } from '../app/store.browser.ts';
import { listPath, ListView, Paging, useList, withIds } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import type { View, ViewProps } from '../app/view.browser.ts';

/** The view of audit records: the requests that the service answered. */
export const audit: View = {
  id: 'audit',
  title: 'Audit',
  isSearchable: true,
  isForOrganization: true,
  component: Audit,
};

type Row = AuditLog & { id: string };

const hour = 3_600_000;
const periods = [
  ['1', 'Last hour'],
  ['24', 'Last 24 hours'],
  ['168', 'Last 7 days'],
  ['720', 'Last 30 days'],
] as const;
const usualPeriod = '24';
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

function Audit({ params }: ViewProps) {
  const { q, method, before } = params;
  // A person may have edited the URL.
  const hours = periods.some(([value]) => value === params['hours']) ? params['hours'] : usualPeriod;
  // Computed once per search, because a new end of the period would start another search.
  const end = useMemo(() => serviceNow(), [q, method, hours, before]);
  const period = { start: new Date(end - Number(hours) * hour).toISOString(), end: new Date(end + 1000).toISOString() };
  const list = useList<AuditLog>(listPath('/audit-logs', { ...period, search: q, method, page_token: before }));
  const { page } = list;
  const nothing = before
    ? 'There are no older records in this period.'
    : 'No request fits. Choose a longer period, or search for less.';
  return (
    <ListView<Row>
      label="Audit records"
      search="Search by path, caller, address or status"
      list={withIds(list, (_log, index) => String(index))}
      columns={columns}
      params={params}
      notFound={nothing}
      none={nothing}
      tools={
        <>
          <select
            aria-label="Period"
            value={hours}
            onChange={({ currentTarget }) => setParams({ hours: currentTarget.value, before: undefined })}
          >
            {periods.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
          <select
            aria-label="Method"
            value={method ?? ''}
            onChange={({ currentTarget }) => setParams({ method: currentTarget.value, before: undefined })}
          >
            <option value="">All methods</option>
            {methods.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
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

const columns: Column<Row>[] = [
  {
    id: 'time',
    title: 'Time',
    width: '14rem',
    isWide: true,
    sort: ({ timestamp }) => timestamp,
    cell: ({ timestamp }) => (
      <time dateTime={timestamp} class="clip">
        {new Date(timestamp).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })}
      </time>
    ),
  },
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
  {
    id: 'status',
    title: 'Status',
    width: '5.5rem',
    sort: ({ status }) => status,
    cell: ({ status }) => (
      <span class="badge" data-tone={status >= 500 ? 'bad' : status >= 400 ? 'warn' : ''}>
        {status}
      </span>
    ),
  },
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
  {
    id: 'duration',
    title: 'Time taken',
    width: '7rem',
    isNumber: true,
    isWide: true,
    sort: ({ duration_ms }) => duration_ms,
    cell: ({ duration_ms }) => `${duration_ms} ms`,
  },
];
