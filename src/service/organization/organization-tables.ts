import type { Project } from '../../contract/projects.ts';
import { boolean, integer, optional, text, time } from '../database/columns.ts';
import { table } from '../database/table.ts';

/** The projects of the organization, with their limits. */
export const projectsTable = table('projects', {
  id: text(),
  /** Unique among projects that aren't deleted. */
  name: text(),
  status: text<Project['status']>(),
  created_at: time(),
  updated_at: time(),
  deleted_at: optional(time()),
  max_concurrent_sessions: optional(integer()),
  max_concurrent_invocations: optional(integer()),
  max_pooled_sessions: optional(integer()),
}).with({
  once: `CREATE UNIQUE INDEX project_names ON projects (name) WHERE deleted_at IS NULL;
    INSERT INTO projects (id, name, status, created_at, updated_at)
      VALUES (lower(hex(randomblob(12))), 'default', 'active', unixepoch() * 1000, unixepoch() * 1000)`,
});

/** A table with one row. */
export const organizationTable = table('organization', {
  default_project_max_concurrent_sessions: optional(integer()),
}).with({ once: 'INSERT INTO organization VALUES (NULL)' });

/** The API keys. Deleted ones stay, because the list can show them. */
export const apiKeysTable = table('api_keys', {
  id: text(),
  name: text(),
  masked_key: text(),
  salt: text(),
  hash: text(),
  created_at: time(),
  expires_at: optional(time()),
  deleted_at: optional(time()),
  /** The lifetime that the key was created with. A rotation changes `expires_at` only. */
  life_ms: optional(integer()),
  /** The only project that the key opens. */
  project_id: optional(text()),
  /** The key that created this one. */
  created_by: optional(text()),
  /**
   * The key with which this one ends: its creator, or the key that replaced the creator. The key's own id if it ends with
   * no other key. Default: its creator.
   */
  parent_id: optional(text()),
  /** Whether an app's process runs with this key. */
  is_of_app: optional(boolean()),
  /** Whether the service was started with this key. */
  is_own: boolean(),
}).with({
  once: `CREATE INDEX own_api_keys ON api_keys (is_own) WHERE is_own = 1;
    CREATE INDEX api_keys_of_project ON api_keys (project_id)`,
});
