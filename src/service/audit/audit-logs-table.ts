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
}).with({
  rules: [
    `text TEXT GENERATED ALWAYS AS
      (lower(path || char(10) || user_id || char(10) || email || char(10) || client_ip || char(10) || status)) VIRTUAL`,
  ],
  once: `CREATE INDEX audit_logs_by_service ON audit_logs (service);
    CREATE INDEX audit_logs_by_auth_strategy ON audit_logs (auth_strategy);
    CREATE INDEX audit_logs_by_user ON audit_logs (user_id);
    CREATE INDEX audit_logs_by_method ON audit_logs (method);
    CREATE VIRTUAL TABLE audit_log_texts
      USING fts5 (text, tokenize = 'trigram', detail = none, content = '', contentless_delete = 1)`,
});

export type AuditRow = RowOf<typeof auditLogsTable>;
export type NewAuditRow = NewRowOf<typeof auditLogsTable>;

export const idsPerMs = 1024;
