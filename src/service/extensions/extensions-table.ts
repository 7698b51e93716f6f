import { integer, optional, text, time } from '../database/columns.ts';
import { table } from '../database/table.ts';

/** The stored extensions of Chromium. */
export const extensionsTable = table('extensions', {
  id: text(),
  project_id: text(),
  /** Unique in the project. */
  name: optional(text()),
  created_at: time(),
  last_used_at: optional(time()),
  /** Of the zip archive. */
  size_bytes: integer(),
  /** SHA-256 of the zip archive. */
  checksum: text(),
});
