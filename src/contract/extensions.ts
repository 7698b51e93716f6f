import { z } from 'zod';
import { empty, json, list, multipart, octets, operation } from './operation.ts';
import { filePart, httpUrl, name, pageQuery, timestamp } from './values.ts';

/** A stored extension of Chromium. */
export const extension = z.looseObject({
  id: z.string(),
  name: z.string().nullable().optional(),
  created_at: timestamp,
  size_bytes: z.int().describe('Size of the zip archive'),
  checksum: z.string().nullable().optional().describe('SHA-256 of the zip archive'),
  last_used_at: timestamp.nullable().optional().describe('When a browser was last started with it'),
});

export type Extension = z.output<typeof extension>;

/** `file` is a zip archive with manifest.json at its top. */
const extensionUpload = z.strictObject({
  file: filePart,
  name: name.optional().describe('Unique in the project'),
});

const extensionLoad = z.strictObject({
  extensions: z
    .array(z.strictObject({ zip_file: filePart, name }))
    .min(1, 'must have at least one extension')
    .max(20),
});

/** The operation that loads extensions into a session. `browsers` contains it. */
export const loadExtensions = operation(
  'POST /browsers/{id}/extensions',
  'Load extensions into a session from zip archives, all or none. Restarts the browser, unless it was started with extensions; ' +
    'its connections and pages close then, and the profile stays',
  { body: multipart(extensionLoad), responses: { 201: empty }, repeatable: false },
);

/** The operations on stored extensions. */
export const extensions = {
  upload: operation('POST /extensions', 'Store an extension', {
    body: multipart(extensionUpload),
    responses: { 201: json(extension) },
    errors: [409],
    repeatable: false,
  }),
  list: operation('GET /extensions', 'List stored extensions, newest first', {
    query: pageQuery.extend({
      query: z.string().optional().describe('Part of the name, or the id'),
      name: z.string().optional().describe('The whole name; case and accents do not matter'),
    }),
    responses: { 200: list(extension) },
  }),
  // Before the operations with {id_or_name}: the service takes the first path that fits.
  downloadFromChromeStore: operation(
    'GET /extensions/from_chrome_store',
    "Download an extension of the Chrome Web Store as a zip archive, which `upload` takes; needs the service's option for the store",
    {
      query: z.strictObject({
        url: httpUrl.describe("Address of the extension's page in the store"),
        os: z.enum(['win', 'mac', 'linux']).default('linux'),
      }),
      responses: { 200: octets() },
      errors: [501],
    },
  ),
  download: operation('GET /extensions/{id_or_name}', 'Download the zip archive of an extension as it was uploaded', {
    responses: { 200: octets() },
  }),
  retrieve: operation('GET /extensions/{id_or_name}/metadata', 'Get a stored extension', {
    responses: { 200: json(extension) },
  }),
  delete: operation(
    'DELETE /extensions/{id_or_name}',
    'Delete an extension; running browsers keep their copies, and pools that name it start no more browsers',
    { responses: { 204: empty } },
  ),
};
