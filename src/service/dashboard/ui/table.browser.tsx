import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { setParams } from '../app/place.browser.ts';

export type Column<T> = {
  id: string;
  title: string;
  cell: (row: T) => ComponentChildren;
  /** The value by which the column sorts. Without it, the column doesn't sort. */
  sort?: ((row: T) => string | number) | undefined;
  /** Numbers are aligned at the end. */
  isNumber?: boolean;
  /** Narrow tables leave the column out. */
  isWide?: boolean;
  /** Only very wide tables have the column. */
  isExtra?: boolean;
  /** The column has buttons, which don't shrink. */
  hasButtons?: boolean;
  /** Such as `12rem`. Default: an equal part of the rest. */
  width?: string;
};

export type TableProps<T> = {
  label: string;
  rows: readonly T[];
  columns: readonly (Column<T> | false)[];
  /** The parameter `sort` of the URL: a column's id, with `-` before it if descending. */
  sort?: string | undefined;
  /** Shown if there are no rows. */
  empty: ComponentChildren;
};

/** In CSS pixels. The style has the same height. */
const rowHeight = 48;
const extraRows = 8;

/** A table that renders only the rows in view. It fills its parent. The key of a row is its `id` or its place. */
export function Table<T extends object>({ label, rows, columns, sort, empty }: TableProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);

  const shown = columns.filter((column) => column !== false);
  const sorted = sortedRows(rows, shown, sort);
  const first = Math.max(0, Math.min(Math.floor(view.top / rowHeight) - extraRows, sorted.length - 1));
  const last = Math.min(sorted.length, Math.ceil((view.top + view.height) / rowHeight) + extraRows);
  return (
    // The keyboard scrolls a region that has the focus.
    <div class="table" ref={box} role="region" aria-label={label} tabIndex={0}>
      <table aria-rowcount={sorted.length + 1}>
        <colgroup>
          {shown.map((column) => (
            <col key={column.id} class={classOf(column)} style={column.width ? { '--width': column.width } : {}} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {shown.map((column) => (
              <Heading key={column.id} column={column} sort={sort} />
            ))}
          </tr>
        </thead>
        <Space rows={first} />
        <tbody>
          {sorted.slice(first, last).map((row, index) => (
            <tr key={'id' in row ? String(row.id) : first + index} aria-rowindex={first + index + 2}>
              {shown.map((column) => (
                <td key={column.id} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        <Space rows={sorted.length - last} />
      </table>
      {sorted.length === 0 && <div class="empty">{empty}</div>}
    </div>
  );
}

function Heading<T>({ column, sort = '' }: { column: Column<T>; sort: string | undefined }) {
  const { id, title } = column;
  const direction = sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : undefined;
  const next = direction === 'ascending' ? `-${id}` : id;
  return (
    <th scope="col" class={classOf(column)} {...(direction && { 'aria-sort': direction })}>
      {column.sort ? (
        <button type="button" class="sort" onClick={() => setParams({ sort: next })}>
          {title}
          <span aria-hidden="true">{direction === 'ascending' ? ' ↑' : direction ? ' ↓' : ''}</span>
        </button>
      ) : (
        title
      )}
    </th>
  );
}

/** Stands for rows that aren't rendered. */
function Space({ rows }: { rows: number }) {
  if (rows <= 0) return null;
  return (
    <tbody aria-hidden="true">
      <tr>
        <td style={{ height: `${rows * rowHeight}px`, padding: 0 }}></td>
      </tr>
    </tbody>
  );
}

function sortedRows<T>(rows: readonly T[], columns: readonly Column<T>[], sort = ''): readonly T[] {
  const value = columns.find(({ id }) => id === sort.replace(/^-/, ''))?.sort;
  if (!value) return rows;
  const sign = sort.startsWith('-') ? -1 : 1;
  return rows
    .map((row) => [value(row), row] as const)
    .sort(([one], [other]) => (one < other ? -sign : one > other ? sign : 0))
    .map(([, row]) => row);
}

function classOf<T>({ isNumber, isWide, isExtra, hasButtons }: Column<T>): string {
  const classes = [isNumber && 'number', isWide && 'wide', isExtra && 'wide extra', hasButtons && 'buttons'];
  return classes.filter(Boolean).join(' ');
}
