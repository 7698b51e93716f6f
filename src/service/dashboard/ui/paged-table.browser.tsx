import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { listPage, type ListPage } from '../app/api.browser.ts';
import type { DashboardState } from '../dashboard-state.ts';
import { setParams } from '../app/place.browser.ts';
import { Filter } from './filter.browser.tsx';
import { Table, type Column } from './table.browser.tsx';

export type List<T> = { page: ListPage<T> | undefined; error: string | undefined; reload: () => void };

export const pageSize = 50;
/** How long a person may pause while typing, in ms. */
const typingMs = 250;

/** Loads one page of a list, again after each change of its path. */
export function useList<T>(path: string, project?: string): List<T> {
  const [loaded, set] = useState<{ page?: ListPage<T>; error?: string }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    const leave = new AbortController();
    const load = async () => {
      try {
        set({ page: await listPage<T>(path, { project, signal: leave.signal }) });
      } catch (error) {
        if (!leave.signal.aborted) set({ error: error instanceof Error ? error.message : String(error) });
      }
    };
    const timer = setTimeout(() => void load(), loaded.page ? typingMs : 0);
    return () => {
      clearTimeout(timer);
      leave.abort();
    };
  }, [path, project, round]);
  return { page: loaded.page, error: loaded.error, reload: () => setRound((count) => count + 1) };
}

/** The path of a list page. Leaves out empty parameters. */
export function listPath(path: string, query: Record<string, string | number | undefined>): string {
  const entries = Object.entries({ limit: pageSize, ...query }).filter(([, value]) => value);
  return `${path}?${new URLSearchParams(entries.map(([key, value]) => [key, String(value)])).toString()}`;
}

export type PagedTableProps<T> = {
  label: string;
  list: List<T>;
  columns: readonly (Column<T> | false)[];
  sort: string | undefined;
  empty: ComponentChildren;
  /** The buttons for other list pages. Default: those of offsets, by the parameter `offset` of the URL. */
  paging?: ComponentChildren;
  offset?: string | undefined;
};

export function PagedTable<T extends { id: string }>({ list, paging, offset, ...table }: PagedTableProps<T>) {
  const { page, error } = list;
  if (error !== undefined)
    return (
      <div role="alert" class="failed">
        <p>{error}</p>
        <button type="button" onClick={list.reload}>
          Try again
        </button>
      </div>
    );
  if (!page) return <p class="empty">Loading…</p>;
  // A part of a list can't be sorted.
  const isWhole = !page.hasMore && Number(offset ?? 0) === 0 && !paging;
  const columns = table.columns.map((column) => (column && !isWhole ? unsorted(column) : column));
  return (
    <>
      <Table {...table} columns={columns} rows={page.items} />
      {paging ?? <OffsetPaging page={page} offset={Number(offset ?? 0)} />}
    </>
  );
}

function unsorted<T>(column: Column<T>): Column<T> {
  const copy = { ...column };
  delete copy.sort;
  return copy;
}

function OffsetPaging({ page, offset }: { page: ListPage<unknown>; offset: number }) {
  if (offset === 0 && !page.hasMore) return null;
  const { length } = page.items;
  return (
    <Paging
      text={length === 0 ? 'No more entries' : `${offset + 1}–${offset + length}`}
      {...(offset > 0 && { onNewer: () => goTo(offset - pageSize) })}
      {...(page.hasMore && { onOlder: () => goTo(page.nextOffset) })}
    />
  );
}

function goTo(offset: number): void {
  setParams({ offset: offset > 0 ? String(offset) : undefined });
}

export function Paging({ text, onNewer, onOlder }: { text: string; onNewer?: () => void; onOlder?: () => void }) {
  return (
    <div class="paging" role="group" aria-label="Pages">
      <button type="button" disabled={!onNewer} onClick={onNewer}>
        Newer
      </button>
      <span role="status">{text}</span>
      <button type="button" disabled={!onOlder} onClick={onOlder}>
        Older
      </button>
    </div>
  );
}

/** The tools above a list: its filter, the project in which an organization key looks, and what a view adds. */
export function ListTools({
  label,
  params,
  state,
  list,
  children,
}: {
  label: string;
  params: Readonly<Record<string, string>>;
  /** Without it, the list has no projects. */
  state?: DashboardState;
  list: List<unknown>;
  children?: ComponentChildren;
}) {
  const { projects = [] } = state?.service ?? {};
  return (
    <div class="toolbar">
      <Filter label={label} value={params['q']} />
      {projects.length > 1 && (
        <select
          aria-label="Project"
          value={params['project'] ?? ''}
          onChange={({ currentTarget }) => setParams({ project: currentTarget.value, offset: undefined })}
        >
          <option value="">Default project</option>
          {projects.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      {children}
      <button type="button" onClick={list.reload}>
        Refresh
      </button>
    </div>
  );
}
