import { integer, json, optional, sealed, text, time } from '../database/columns.ts';
import { table } from '../database/table.ts';

/** The stored proxies of all projects. */
export const proxiesTable = table('proxies', {
  id: text(),
  project_id: text(),
  name: optional(text()),
  protocol: text<'http' | 'https'>(),
  bypass_hosts: json<string[]>(),
  host: text(),
  port: integer(),
  username: optional(text()),
  password: optional(sealed(({ id }) => `proxy ${id} password`)),
  /** Certificates in PEM. */
  ca_bundle: optional(text()),
  /** The result of the last check. */
  status: optional(text<'available' | 'unavailable'>()),
  status_reason: optional(text()),
  last_checked: optional(time()),
  created_at: time(),
});
