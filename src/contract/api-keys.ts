import { z } from 'zod';
import { empty, json, list, operation } from './operation.ts';
import { pageQuery, queryBoolean } from './pagination.ts';
import { label, timestamp } from './values.ts';

const apiKey = z.looseObject({
  id: z.string(),
  name: z.string(),
  created_at: timestamp,
  created_by: z.looseObject({ id: z.string(), email: z.email(), name: z.string().nullable() }).describe('The API key that created it'),
  expires_at: timestamp.nullable(),
  deleted_at: timestamp.nullable(),
  project_id: z.string().nullable().describe('Null for an organization key'),
  project_name: z.string().nullable(),
  masked_key: z.string(),
});

export type ApiKey = z.output<typeof apiKey>;

const createdApiKey = apiKey.extend({ key: z.string().describe('The key itself, shown this once') });

export type CreatedApiKey = z.output<typeof createdApiKey>;

const lifetimeDays = z.int().min(1).max(3650).nullable().optional();

const apiKeyCreate = z.strictObject({
  name: label,
  days_to_expire: lifetimeDays.describe('Null: never, which is the default'),
  project_id: z.string().nullable().optional().describe("Null: an organization key. Default: null, for a project's key its project"),
});

const apiKeyRotate = z.strictObject({
  days_to_expire: lifetimeDays.describe('Of the new key; null: never. Default: as long as the old one had'),
  expire_in_days: z.int().min(0).max(3650).nullable().optional().describe('Grace period of the old key. Default: 7 days'),
});

export type ApiKeyRotate = z.output<typeof apiKeyRotate>;

const apiKeyList = pageQuery.extend({
  query: z.string().optional().describe('Part of the name, creator or project; the beginning of an id or masked key'),
  name: z.string().optional().describe('The exact name'),
  sort_by: z.enum(['created_at', 'name', 'expires_at']).default('created_at'),
  sort_direction: z.enum(['asc', 'desc']).default('desc'),
  status: z.enum(['active', 'deleted', 'all']).default('active').describe('Expired keys are active until they are deleted'),
  include_deleted: queryBoolean().optional().describe('Deprecated; use status'),
});

export type ApiKeyList = z.output<typeof apiKeyList>;

/** A project's key sees and makes keys of its project. */
export const apiKeys = {
  create: operation({
    method: 'POST',
    path: '/org/api_keys',
    summary: 'Create an API key; the answer alone shows it',
    scope: 'key',
    body: apiKeyCreate,
    responses: { 201: json(createdApiKey) },
    errors: [403, 404],
  }),
  list: operation({
    method: 'GET',
    path: '/org/api_keys',
    summary: 'List API keys, newest first',
    scope: 'key',
    query: apiKeyList,
    responses: { 200: list(apiKey) },
    errors: [],
  }),
  retrieve: operation({
    method: 'GET',
    path: '/org/api_keys/{id}',
    summary: 'Get an API key',
    scope: 'key',
    query: z.strictObject({ include_deleted: queryBoolean().default(false) }),
    responses: { 200: json(apiKey) },
    errors: [404],
  }),
  update: operation({
    method: 'PATCH',
    path: '/org/api_keys/{id}',
    summary: 'Rename an API key',
    scope: 'key',
    body: z.strictObject({ name: label }),
    responses: { 200: json(apiKey) },
    errors: [404],
  }),
  delete: operation({
    method: 'DELETE',
    path: '/org/api_keys/{id}',
    summary: 'Delete an API key, which opens nothing from then on; a key cannot delete itself',
    scope: 'key',
    responses: { 204: empty },
    errors: [404],
  }),
  rotate: operation({
    method: 'POST',
    path: '/org/api_keys/{id}/rotate',
    summary: 'Issue a new key with the same name and project, and let the old one expire',
    scope: 'key',
    body: apiKeyRotate.prefault({}),
    responses: { 201: json(createdApiKey) },
    errors: [404],
  }),
};
