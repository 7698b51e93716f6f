import { integer, optional, text } from '../database/columns.ts';
import { type NewRowOf, type RowOf, table } from '../database/table.ts';

/** The audit records: one for each request to the service. */
export const auditLogsTable = table('audit_logs', {
  /** The time in ms, times `idsPerMs`, and a number that distinguishes records of the same ms. */
  id: integer(),
  event_id: text(),
  auth_strategy: text(),
  user_id: text(),
  email: text(),
  status: integer(),
  method: text(),
  path: text(),
  route: text(),
  domain: text(),
  duration_ms: integer(),
  client_ip: text(),
  user_agent: text(),
  /** `api` or `pages`. */
  service: text(),
  /** For a refused request without a key: how many such requests the record stands for. Default: 1. */
  count: optional(integer()),
});

export type AuditRow = RowOf<typeof auditLogsTable>;
export type NewAuditRow = NewRowOf<typeof auditLogsTable>;

export const idsPerMs = 1024;
