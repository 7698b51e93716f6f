import { safeParse, type z } from 'zod';
import type { Columns, SecretColumn } from './columns.ts';
import { columnName, type Row, type TableDescription } from './table.ts';

type Snake<S> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : S;
type Shown<C extends Columns> = { [K in keyof C]: C[K] extends SecretColumn ? never : Snake<K> }[keyof C];

/**
 * Returns a function that turns a row of a table into an answer of the API. The answer has the fields of the contract's
 * schema, times in ISO 8601, and null for a missing value if the schema accepts null. It has no secrets and no other
 * columns.
 */
export function answerOf<S extends z.ZodObject, C extends Columns>(schema: S, { columns }: TableDescription<C>) {
  const shown = Object.entries(columns).flatMap(([key, column]) => {
    const field = schema.shape[columnName(key)];
    if (!field || column.isSecret) return [];
    return [{ key, name: columnName(key), column, missing: safeParse(field, null).success ? null : undefined }];
  });
  return (row: Row<C>): Pick<z.output<S>, Shown<C> & keyof S['shape'] & keyof z.output<S>> => {
    const answer: Record<string, unknown> = {};
    for (const { key, name, column, missing } of shown) {
      const value = row[key] === undefined ? missing : column.show(row[key]);
      if (value !== undefined) answer[name] = value;
    }
    return answer as z.output<S>;
  };
}
