import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { listPage, type ListPage } from '../app/api.browser.ts';
import { setParams } from '../app/place.browser.ts';
import { useLive } from '../app/store.browser.ts';
import type { DashboardState } from '../../../contract/dashboard-events.ts';
import { Table, type Column } from './table.browser.tsx';
import { Choice, Filter } from './toolbar.browser.tsx';

/** The parameters of the URL: `q`, `project`, `offset` and `sort`. */
type Params = Readonly<Record<string, string | undefined>>;

type List<T> = { page: ListPage<T> | undefined; error: string | undefined; reload: () => void; params: Params };

export type ListViewProps<T> = {
  /** The name of the list, such as `Profiles`. */
  label: string;
  /** The label of the search field. Without it, there is none. */
  search?: string;
  list: List<T>;
  columns: readonly Column<T>[];
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
  const { search, list, state, tools } = props;
  const { params, reload } = list;
  // A person with an organization key chooses the project to show.
  const projects = state?.service.projects ?? [];
  return (
    <>
      <div class="toolbar">
        {search !== undefined && <Filter label={search} value={params['q']} />}
        {projects.length > 1 && (
          <Choice
            label="Project"
            value={params['project'] ?? ''}
            options={[['', 'Default project'], ...projects.map(({ id, name }) => [id, name] as const)]}
            onChange={(project) => setParams({ project, offset: undefined })}
          />
        )}
        {tools}
        <button type="button" onClick={reload}>
          Refresh
        </button>
      </div>
      <Rows {...props} />
    </>
  );
}

/** Loads the list page that the parameters name. Other lists than the usual ones have their own query. */
export function useList<T>(
  path: string,
  params: Params,
  query: Record<string, string | undefined> = { query: params['q'], offset: params['offset'] },
  everyMs?: number,
): List<T> {
  const url = listPath(path, query);
  const { project } = params;
  const load = (signal: AbortSignal) => listPage<T>(url, { project, signal });
  const { value, error, reload } = useLoaded(load, [url, project], everyMs);
  return { page: value, error, reload, params };
}

/**
 * Loads a value, again after each change of the inputs, when the service answers again, and every `everyMs` while somebody
 * can see the document.
 */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[], everyMs?: number) {
  const [loaded, set] = useState<{ value?: T; error?: string }>({});
  const [round, setRound] = useState(0);
  const { returns } = useLive();
  const reload = () => setRound((count) => count + 1);
  useEffect(() => {
    const leave = new AbortController();
    const start = async () => {
      try {
        set({ value: await load(leave.signal) });
      } catch (error) {
        if (!leave.signal.aborted) set({ error: error instanceof Error ? error.message : String(error) });
      }
    };
    const timer = setTimeout(() => void start(), loaded.value ? typingMs : 0);
    return () => {
      clearTimeout(timer);
      leave.abort();
    };
  }, [...inputs, round, returns]);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.hidden) return;
      clearInterval(timer);
      reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [loaded, everyMs]);
  return { ...loaded, reload };
}

/** Shows why something could not be loaded. */
export function Failed({ error, onRetry }: { error: string; onRetry: () => void }) {
  return (
    <div role="alert" class="failed">
      <p>{error}</p>
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    </div>
  );
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
  const { label, list, columns, none, notFound, paging } = props;
  const { page, error, reload, params } = list;
  if (error !== undefined) return <Failed error={error} onRetry={reload} />;
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
