import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { listPage, type ListPage } from '../app/api.browser.ts';
import { setParams } from '../app/place.browser.ts';
import { useLive } from '../app/store.browser.ts';
import type { DashboardState } from '../../../contract/dashboard-events.ts';
import { Filter } from './filter.browser.tsx';
import { Table, type Column } from './table.browser.tsx';

export type List<T> = { page: ListPage<T> | undefined; error: string | undefined; reload: () => void };

export type ListViewProps<T> = {
  /** The name of the list, such as `Profiles`. */
  label: string;
  /** The label of the search field. */
  search: string;
  list: List<T>;
  columns: readonly Column<T>[];
  /** The parameters of the URL: `q`, `project`, `offset` and `sort`. */
  params: Readonly<Record<string, string>>;
  /** The dashboard's state, if the entries of the list belong to projects. It has the projects to choose from. */
  state?: DashboardState;
  /** Shown if the list has no entries. */
  none: ComponentChildren;
  /** Shown if the search finds none. */
  notFound: string;
  /** More tools beside the search. */
  tools?: ComponentChildren;
  /** The buttons for other list pages. Default: buttons that change the parameter `offset`. */
  paging?: ComponentChildren;
};

const pageSize = 50;
/** How long a person may pause while typing, in ms. */
const typingMs = 250;

/** A list of the service: its search, one list page of it as a table, and buttons for the other list pages. */
export function ListView<T extends object>(props: ListViewProps<T>) {
  const { search, list, params, state, tools } = props;
  return (
    <>
      <div class="toolbar">
        <Filter label={search} value={params['q']} />
        {state && <ProjectChoice projects={state.service.projects} value={params['project']} />}
        {tools}
        <button type="button" onClick={list.reload}>
          Refresh
        </button>
      </div>
      <Rows {...props} />
    </>
  );
}

/** Loads one page of a list, again after each change of its path and when the service answers again. */
export function useList<T>(path: string, project?: string): List<T> {
  const [loaded, set] = useState<{ page?: ListPage<T>; error?: string }>({});
  const [round, setRound] = useState(0);
  const { returns } = useLive();
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
  }, [path, project, round, returns]);
  return { page: loaded.page, error: loaded.error, reload: () => setRound((count) => count + 1) };
}

/** The path of a list page. Leaves out empty parameters. */
export function listPath(path: string, query: Record<string, string | number | undefined>): string {
  const entries = Object.entries({ limit: pageSize, ...query }).filter(([, value]) => value);
  return `${path}?${new URLSearchParams(entries.map(([key, value]) => [key, String(value)])).toString()}`;
}

/** The buttons that lead to newer and older list pages. */
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

function Rows<T extends object>(props: ListViewProps<T>) {
  const { label, list, columns, params, none, notFound, paging } = props;
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
  const offset = Number(params['offset'] ?? 0);
  // Sorting one page of a longer list would mislead.
  const isWhole = !page.hasMore && offset === 0 && !paging;
  return (
    <>
      <Table
        label={label}
        rows={page.items}
        columns={columns.map((column) => (isWhole ? column : Object.assign({}, column, { sort: undefined })))}
        sort={params['sort']}
        empty={params['q'] ? notFound : none}
      />
      {paging ?? <OffsetPaging page={page} offset={offset} />}
    </>
  );
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

/** Lets a person with an organization key choose the project to show. */
function ProjectChoice({
  projects,
  value = '',
}: {
  projects: DashboardState['service']['projects'];
  value: string | undefined;
}) {
  if (projects.length < 2) return null;
  return (
    <select
      aria-label="Project"
      value={value}
      onChange={({ currentTarget }) => setParams({ project: currentTarget.value, offset: undefined })}
    >
      <option value="">Default project</option>
      {projects.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
