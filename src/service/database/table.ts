import type { ListPage } from '../../contract/operation.ts';
import type { Column, Columns, OptionalColumn, Stored, Values } from './columns.ts';
import { inTransaction, type Database, type Statement } from './database.ts';
import type { Secrets } from './secrets.ts';

/** The SQL of a table beyond its columns. */
type TableSQL = {
  /** Computed columns and constraints. Without a primary key among them, the first column is it, unless that column is optional. */
  readonly rules?: readonly string[];
  /** Statements that run once, when the table is new: indexes and first rows. */
  readonly once?: string;
  /** The query of a view. */
  readonly view?: string;
};

/** The name and the columns of a table. A key in camelCase is a column in snake_case. */
export type TableDescription<C extends Columns = Columns> = { readonly name: string; readonly columns: C } & TableSQL;

/** Describes a table. `Table` makes it in a new database, and adds new optional columns to the table of an older one. */
export function table<C extends Columns>(name: string, columns: C) {
  const described: TableDescription<C> = { name, columns };
  return { ...described, with: (sql: TableSQL): TableDescription<C> => ({ ...described, ...sql }) };
}

/** The row of a described table. */
export type RowOf<D> = D extends TableDescription<infer C> ? Row<C> : never;
/** A row to insert: optional columns can be left out. */
export type NewRowOf<D> = D extends TableDescription<infer C> ? NewRow<C> : never;

type Read<K extends Column> = ReturnType<K['decode']>;
type Written<K extends Column> = Parameters<K['encode']>[0];
type OptionalKey<C extends Columns> = { [K in keyof C]: C[K] extends OptionalColumn ? K : never }[keyof C];
export type Row<C extends Columns> = { [K in keyof C]: Read<C[K]> | (C[K] extends OptionalColumn ? undefined : never) };
type NewRow<C extends Columns> = { [K in Exclude<keyof C, OptionalKey<C>>]: Written<C[K]> } & {
  [K in OptionalKey<C>]?: Written<C[K]> | null | undefined;
};
type Changes<C extends Columns> = { [K in keyof C]?: Written<C[K]> | null | undefined };
type Condition<T> = T | readonly T[] | { from: T } | { below: T };
type Filter<C extends Columns> = {
  [K in keyof C]?: Condition<Extract<Read<C[K]>, string | number | boolean>> | null | undefined;
};

/** `search` is an SQL condition on `:query`. It counts only if there is a `query`. */
type ListOptions = { order?: string; search?: string; query?: string | undefined };
type PageOptions = ListOptions & { limit: number; offset: number };

/** An SQL condition: the column contains `:query`, in upper or lower case. */
export function contains(column: string): string {
  return `instr(lower(ifnull(${column}, '')), lower(:query)) > 0`;
}

/**
 * The rows of a table. A filter names values, lists of values, `{ from }` or `{ below }`; null means that there is no
 * value. `undefined` means any value in `list`, `page` and `count`, and matches nothing elsewhere.
 */
export class Table<D extends TableDescription, C extends Columns = D['columns']> {
  readonly #database: Database;
  readonly #secrets: Secrets | undefined;
  readonly #name: string;
  readonly #columns: ReadonlyMap<string, { name: string; column: Column }>;
  readonly #names: string;
  /** Preparing a statement takes longer than running it, and a table has few different ones. */
  readonly #statements = new Map<string, Statement>();

  constructor(database: Database, description: D, secrets?: Secrets) {
    const { name, columns } = description;
    this.#database = database;
    this.#secrets = secrets;
    this.#name = name;
    this.#columns = new Map(Object.entries(columns).map(([key, column]) => [key, { name: columnName(key), column }]));
    this.#names = Array.from(this.#columns.values(), (column) => column.name).join(', ');
    this.#make(description);
  }

  /** Ignores values that have no column. */
  insert(values: NewRow<C>): Row<C> {
    const stored = Object.fromEntries(Array.from(this.#columns.keys(), (key) => [key, this.#encoded(key, values)]));
    const places = Object.keys(stored).map((key) => `:${key}`);
    this.#prepare(`INSERT INTO ${this.#name} (${this.#names}) VALUES (${places.join(', ')})`).run(stored);
    return this.read(Object.fromEntries(Array.from(this.#columns, ([key, { name }]) => [name, stored[key]!])));
  }

  /**
   * Changes the rows that the filter matches, and returns their number. `undefined` and null clear optional columns and
   * leave required ones alone. Ignores values that have no column.
   */
  change(filter: Filter<C>, changes: Changes<C>): number {
    const { where, values } = this.#where(filter);
    const assignments: string[] = [];
    for (const [key, { name, column }] of this.#columns) {
      if (!(key in changes) || (changes[key] == null && !column.isOptional)) continue;
      values[`new_${key}`] = this.#encoded(key, { ...filter, ...changes });
      assignments.push(`${name} = :new_${key}`);
    }
    if (assignments.length === 0) return this.count(filter);
    return this.#prepare(`UPDATE ${this.#name} SET ${assignments.join(', ')} ${where}`).run(values).changes;
  }

  /** Deletes the rows that the filter matches, and returns their number. */
  delete(filter: Filter<C>): number {
    const { where, values } = this.#where(filter);
    return this.#prepare(`DELETE FROM ${this.#name} ${where}`).run(values).changes;
  }

  find(filter: Filter<C>, { order = '1' } = {}): Row<C> | undefined {
    const { where, values } = this.#where(filter);
    const row = this.#prepare(`SELECT ${this.#names} FROM ${this.#name} ${where} ORDER BY ${order} LIMIT 1`).get(
      values,
    );
    return row === undefined ? undefined : this.read(row as Record<string, Stored>);
  }

  list(filter: Filter<C> = {}, options: ListOptions & { limit?: number; offset?: number } = {}): Row<C>[] {
    const { order = 'rowid', limit = -1, offset = 0 } = options;
    const { where, values } = this.#where(defined(filter), options);
    const select = `SELECT ${this.#names} FROM ${this.#name} ${where} ORDER BY ${order} LIMIT :limit OFFSET :offset`;
    const rows = this.#prepare(select).all({ ...values, limit, offset }) as Record<string, Stored>[];
    return rows.map((row) => this.read(row));
  }

  page<T>(filter: Filter<C>, options: PageOptions, toItem: (row: Row<C>) => T): ListPage<T> {
    return pageOfRows(this.list(filter, { ...options, limit: options.limit + 1 }), toItem, options);
  }

  count(filter: Filter<C>): number {
    const { where, values } = this.#where(defined(filter));
    const row = this.#prepare(`SELECT count(*) AS count FROM ${this.#name} ${where}`).get(values);
    return (row as { count: number }).count;
  }

  /** Decodes a row that a statement of the caller's own selected. */
  read(stored: Readonly<Record<string, Stored>>): Row<C> {
    const row: Record<string, unknown> = {};
    for (const [key, { name, column }] of this.#columns) {
      const value = stored[name] ?? null;
      row[key] = value === null ? undefined : column.decode(value, { secrets: this.#secrets, row });
    }
    return row as Row<C>;
  }

  /** Makes the table, or adds its missing columns. */
  #make({ rules = [], once = '', view }: TableSQL): void {
    const stored = new Set(
      this.#prepare('SELECT name FROM pragma_table_info(:table)').pluck().all({ table: this.#name }),
    );
    if (stored.size === 0) {
      const columns = [...this.#columns.values()];
      const [first] = columns;
      const hasKey = first!.column.isOptional || rules.some((rule) => rule.startsWith('PRIMARY KEY'));
      const parts = columns.map(({ name, column }) => `${name} ${column.type}${column.isOptional ? '' : ' NOT NULL'}`);
      const content = [...parts, ...rules, ...(hasKey ? [] : [`PRIMARY KEY (${first!.name})`])].join(', ');
      const kind = view === undefined ? `TABLE ${this.#name} (${content}) STRICT` : `VIEW ${this.#name} AS ${view}`;
      inTransaction(this.#database, () => this.#database.exec(`CREATE ${kind}; ${once}`));
      return;
    }
    for (const { name, column } of this.#columns.values()) {
      if (column.isOptional && !stored.has(name))
        this.#database.exec(`ALTER TABLE ${this.#name} ADD COLUMN ${name} ${column.type}`);
    }
  }

  #encoded(key: string, row: Values): Stored {
    const value = row[key];
    return value == null ? null : this.#columns.get(key)!.column.encode(value, { secrets: this.#secrets, row });
  }

  #where(filter: Values, { search, query }: ListOptions = {}): { where: string; values: Record<string, Stored> } {
    const values: Record<string, Stored> = {};
    const conditions = Object.entries(filter).map(([key, wanted]) => {
      const { name } = this.#columns.get(key)!;
      if (wanted === null) return `${name} IS NULL`;
      const { from, below } = Object(wanted) as { from?: Stored; below?: Stored };
      values[key] = Array.isArray(wanted) ? JSON.stringify(wanted) : (from ?? below ?? this.#encoded(key, filter));
      if (Array.isArray(wanted)) return `${name} IN (SELECT value FROM json_each(:${key}))`;
      return `${name} ${from === undefined ? (below === undefined ? '=' : '<') : '>='} :${key}`;
    });
    if (search !== undefined && query !== undefined) {
      conditions.push(`(${search})`);
      values['query'] = query;
    }
    return { where: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`, values };
  }

  #prepare(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.#database.prepare(sql)));
    return statement;
  }
}

function defined<T extends Values>(filter: T): T {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as T;
}

export function columnName(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Makes a list page from rows. `rows` must have one row more than the page, if there are more, so that `hasMore` is
 * right.
 */
export function pageOfRows<Row, T>(
  rows: Row[],
  toItem: (row: Row) => T,
  { limit, offset }: { limit: number; offset: number },
): ListPage<T> {
  const hasMore = rows.length > limit;
  return { items: rows.slice(0, limit).map(toItem), hasMore, nextOffset: hasMore ? offset + limit : 0 };
}
