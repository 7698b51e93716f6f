import type { Secrets } from './secrets.ts';

/** A value that SQLite stores. */
export type Stored = string | number | null;
export type Values = Readonly<Record<string, unknown>>;

/** The key and the row that encrypting or decrypting a value needs. */
type Sealing = { secrets: Secrets | undefined; row: Values };

/**
 * An encrypted value. Only `open` needs the key: it decrypts the value, and throws `unavailable` if the key is missing.
 */
export type Sealed = { open(): string };

/** How the values of a column are stored (`encode`, `decode`), and how answers of the API show them (`show`). */
export type Column<Read = unknown, Written = Read> = {
  readonly type: 'TEXT' | 'INTEGER';
  readonly isOptional: boolean;
  readonly isSecret: boolean;
  encode(value: Written, sealing: Sealing): Stored;
  decode(stored: Stored, sealing: Sealing): Read;
  show(value: Read): unknown;
};
export type Columns = Readonly<Record<string, Column>>;
export type OptionalColumn = { readonly isOptional: true };
export type SecretColumn = { readonly isSecret: true };

export function text<T extends string = string>(): Column<T> {
  return column('TEXT', { decode: (stored) => stored as T });
}

export function integer(): Column<number> {
  return column('INTEGER', { decode: Number });
}

export function boolean(): Column<boolean> {
  return column('INTEGER', { encode: Number, decode: (stored) => stored === 1 });
}

/** In ms since the epoch. */
export function time(): Column<number> {
  return column('INTEGER', { decode: Number, show: (value) => new Date(value).toISOString() });
}

export function json<T>(): Column<T> {
  return column('TEXT', {
    encode: (value) => JSON.stringify(value),
    decode: (stored) => JSON.parse(stored as string) as T,
  });
}

/** A column of secrets. Each value is encrypted for its own row: `place` must return a different text for each row. */
export function sealed(
  place: (row: Readonly<Record<string, string>>) => string,
): Column<Sealed, string> & SecretColumn {
  const at = (row: Values) => place(row as Record<string, string>);
  const {
    encode,
    decode,
  }: Pick<Column<Sealed, string>, 'encode' | 'decode'> = {
    encode: (value, { secrets, row }) => secrets!.seal(value, at(row)),
    decode: (stored, { secrets, row }) => ({ open: () => secrets!.open(stored as string, at(row)) }),
  };
  return { type: 'TEXT', isOptional: false, isSecret: true, encode, decode, show: () => undefined };
}

/** Missing values are `undefined` in a row and NULL in the table. */
export function optional<K extends Column>(column: K): K & OptionalColumn {
  return { ...column, isOptional: true };
}

function column<T>(type: Column['type'], codec: Pick<Column<T>, 'decode'> & Partial<Column<T>>): Column<T> {
  return {
    type,
    isOptional: false,
    isSecret: false,
    encode: (value) => value as Stored,
    show: (value) => value,
    ...codec,
  };
}
