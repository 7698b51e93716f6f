import { z } from 'zod';
import { empty, json, list, octets, operation } from './operation.ts';
import { pageQuery } from './pagination.ts';
import { name, timestamp } from './values.ts';

/** A stored user-data directory under a name. */
export const profile = z.looseObject({
  id: z.string(),
  name: z.string().nullable(),
  created_at: timestamp,
  updated_at: timestamp.optional(),
  last_used_at: timestamp.optional(),
});

export type Profile = z.output<typeof profile>;

export const profiles = {
  create: operation({
    method: 'POST',
    path: '/profiles',
    summary: 'Create an empty profile',
    body: z.strictObject({ name: name.optional() }).prefault({}),
    responses: { 201: json(profile) },
    errors: [403, 409],
  }),
  list: operation({
    method: 'GET',
    path: '/profiles',
    summary: 'List profiles, newest first',
    query: pageQuery.extend({
      query: z.string().optional().describe('Part of the name or id'),
      name: z.string().optional().describe('The exact name'),
    }),
    responses: { 200: list(profile) },
    errors: [],
  }),
  retrieve: operation({
    method: 'GET',
    path: '/profiles/{id_or_name}',
    summary: 'Get a profile',
    responses: { 200: json(profile) },
    errors: [404],
  }),
  update: operation({
    method: 'PATCH',
    path: '/profiles/{id_or_name}',
    summary: 'Rename a profile',
    body: z.strictObject({ name }),
    responses: { 200: json(profile) },
    errors: [403, 404, 409],
  }),
  delete: operation({
    method: 'DELETE',
    path: '/profiles/{id_or_name}',
    summary: 'Delete a profile; browsers that were started with it keep their copies',
    responses: { 204: empty },
    errors: [403, 404],
  }),
  download: operation({
    method: 'GET',
    path: '/profiles/{id_or_name}/download',
    summary: 'Download the stored user-data directory as an archive; 202 while nothing has been saved',
    query: z.strictObject({ format: z.enum(['tar.zst', 'tar']).default('tar.zst') }),
    responses: { 200: octets(), 202: empty },
    errors: [403, 404],
  }),
};
