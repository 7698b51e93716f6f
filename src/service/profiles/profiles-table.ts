import { integer, optional, text, time } from '../database/columns.ts';
import { table } from '../database/table.ts';

/** The stored profiles of all projects. */
export const profilesTable = table('profiles', {
  id: text(),
  project_id: text(),
  /** Unique in the project. */
  name: optional(text()),
  created_at: time(),
  updated_at: time(),
  last_used_at: optional(time()),
  /** The version of the files that was saved last. */
  version: optional(text()),
  /** The size of that version. */
  size_bytes: optional(integer()),
});
