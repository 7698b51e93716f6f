import type { PoolCreate } from '../../contract/browser-pools.ts';
import { json, optional, text, time } from '../database/columns.ts';
import { type RowOf, type Table, table } from '../database/table.ts';

/** The stored pools of all projects. */
export const poolsTable = table('pools', {
  id: text(),
  projectId: text(),
  /** The same as in `config`. Unique in the project. */
  name: optional(text()),
  config: json<PoolCreate>(),
  createdAt: time(),
});

export type PoolRecord = RowOf<typeof poolsTable>;
export type PoolRecords = Table<typeof poolsTable>;
