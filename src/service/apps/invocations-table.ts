import type { InvocationStatus } from '../../contract/invocations.ts';
import { optional, text, time } from '../database/columns.ts';
import { type RowOf, table } from '../database/table.ts';

/** The runs of actions. */
export const invocationsTable = table('invocations', {
  id: text(),
  projectId: text(),
  deploymentId: text(),
  appName: text(),
  version: text(),
  actionName: text(),
  payload: optional(text()),
  output: optional(text()),
  status: text<InvocationStatus>(),
  statusReason: optional(text()),
  createdAt: time(),
  /** The time of creation, until the action starts. */
  startedAt: time(),
  finishedAt: optional(time()),
});

export type InvocationRecord = RowOf<typeof invocationsTable>;
