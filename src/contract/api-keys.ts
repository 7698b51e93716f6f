import { z } from 'zod';
import { empty, json, list, operation } from './operation.ts';
import { label, timestamp, pageQuery, queryBoolean } from './values.ts';

/** An API key, without the key itself. */
export const apiKey = z.looseObject({
  id: z.string(),
  name: z.string(),
  created_at: timestamp,
  created_by: z
    .looseObject({ id: z.string(), email: z.email(), name: z.string().nullable() })
    .describe('The API key that created it'),
  expires_at: timestamp.nullable(),
  deleted_at: timestamp.nullable(),
  project_id: z.string().nullable().describe('Null for an organization key'),
  project_name: z.string().nullable(),
  masked_key: z.string(),
});

export type ApiKey = z.output<typeof apiKey>;

const createdApiKey = apiKey.extend({ key: z.string().describe('The key itself; no other answer has it') });

export type CreatedApiKey = z.output<typeof createdApiKey>;

const lifetimeDays = z.int().min(1).max(3650).nullable().optional();

const apiKeyCreate = z.strictObject({
  name: label,
  days_to_expire: lifetimeDays.describe(
    'At most as long as the creating key. Null: never. Default: as long as the creating key',
  ),
  project_id: z
    .string()
    .nullable()
    .optional()
    .describe("Null: an organization key. Default: the project of the caller's key"),
});

const apiKeyRotate = z.strictObject({
  days_to_expire: lifetimeDays.describe(
    'Of the new key, at most as long as the key of the caller; null: never. Default: as long as the old one had',
  ),
  expire_in_days: z
    .int()
    .min(0)
    .max(3650)
    .nullable()
    .optional()
    .describe('Grace period of the old key. Default: 7 days'),
});

export type ApiKeyRotate = z.output<typeof apiKeyRotate>;

const apiKeyList = pageQuery.extend({
  query: z
    .string()
    .optional()
    .describe('Part of the name, creator or project, or the beginning of an id or masked key'),
  name: z.string().optional().describe('The exact name'),
  sort_by: z.enum(['created_at', 'name', 'expires_at']).default('created_at'),
  sort_direction: z.enum(['asc', 'desc']).default('desc'),
  status: z
    .enum(['active', 'deleted', 'all'])
    .default('active')
    .describe('Expired keys count as active until they are deleted'),
  include_deleted: queryBoolean().optional().describe('Deprecated; use status'),
});

export type ApiKeyList = z.output<typeof apiKeyList>;

/**
 * The operations on API keys. A project's key sees and creates only keys of its project. No key outlives the key that
 * created it. The key of an app's process can only read keys.
 */
export const apiKeys = {
  create: operation('POST /org/api_keys', 'Create an API key; only this answer contains the key', {
    scope: 'key',
    body: apiKeyCreate,
    responses: { 201: json(createdApiKey) },
    errors: [403, 404],
  }),
  list: operation('GET /org/api_keys', 'List API keys, newest first', {
    scope: 'key',
    query: apiKeyList,
    responses: { 200: list(apiKey) },
  }),
  retrieve: operation('GET /org/api_keys/{id}', 'Get an API key', {
    scope: 'key',
    query: z.strictObject({ include_deleted: queryBoolean().default(false) }),
    responses: { 200: json(apiKey) },
  }),
  update: operation('PATCH /org/api_keys/{id}', 'Rename an API key', {
    scope: 'key',
    body: z.strictObject({ name: label }),
    responses: { 200: json(apiKey) },
    errors: [403],
  }),
  delete: operation(
    'DELETE /org/api_keys/{id}',
    'Delete an API key and the keys that it created; a key cannot delete itself',
    {
      scope: 'key',
      query: z.strictObject({
        keep_children: queryBoolean()
          .default(false)
          .describe("Keep the keys that it created; needs an organization key (this service's own parameter)"),
      }),
      responses: { 204: empty },
      errors: [403],
    },
  ),
  rotate: operation(
    'POST /org/api_keys/{id}/rotate',
    'Issue a new key with the same name and project; the old key expires after the grace period',
    {
      scope: 'key',
      body: apiKeyRotate.prefault({}),
      responses: { 201: json(createdApiKey) },
      errors: [403],
    },
  ),
};
