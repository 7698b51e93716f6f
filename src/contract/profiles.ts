import { z } from 'zod';
import { empty, json, list, octets, operation } from './operation.ts';
import { name, timestamp, pageQuery } from './values.ts';

/** A stored user-data directory under a name. */
export const profile = z.looseObject({
  id: z.string(),
  name: z.string().nullable(),
  created_at: timestamp,
  updated_at: timestamp.optional(),
  last_used_at: timestamp.optional(),
  size_bytes: z
    .int()
    .optional()
    .describe("Size of the stored files; missing before the first save (this service's own field)"),
});

export type Profile = z.output<typeof profile>;

const profileWithOrigins = profile.extend({
  storage_origins: z
    .array(z.string())
    .optional()
    .describe("Origins that may have local storage or IndexedDB databases (this service's own field)"),
});

/** The operations on profiles. */
export const profiles = {
  create: operation('POST /profiles', 'Create an empty profile', {
    body: z.strictObject({ name: name.optional() }).prefault({}),
    responses: { 201: json(profile) },
    errors: [409],
  }),
  list: operation('GET /profiles', 'List profiles, newest first', {
    query: pageQuery.extend({
      query: z.string().optional().describe('Part of the name or id'),
      name: z.string().optional().describe('The exact name'),
    }),
    responses: { 200: list(profile) },
  }),
  retrieve: operation('GET /profiles/{id_or_name}', 'Get a profile', { responses: { 200: json(profileWithOrigins) } }),
  update: operation('PATCH /profiles/{id_or_name}', 'Rename a profile', {
    body: z.strictObject({ name }),
    responses: { 200: json(profile) },
    errors: [409],
  }),
  delete: operation('DELETE /profiles/{id_or_name}', 'Delete a profile; running browsers keep their copies', {
    responses: { 204: empty },
  }),
  upload: operation(
    'PUT /profiles/{id_or_name}/upload',
    "Replace the stored user-data directory by the one in an archive, as `download` returns it (this service's own operation)",
    { body: octets(), responses: { 204: empty }, errors: [409] },
  ),
  download: operation(
    'GET /profiles/{id_or_name}/download',
    'Download the stored user-data directory as an archive; 202 if nothing has been saved yet',
    {
      query: z.strictObject({ format: z.enum(['tar.zst', 'tar']).default('tar.zst') }),
      responses: { 200: octets(), 202: empty },
    },
  ),
};
