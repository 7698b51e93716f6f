import { z } from 'zod';
import { empty, events, json, multipart, octets, operation } from './operation.ts';
import { absolutePath, filePart, timestamp } from './values.ts';

/** Permission bits in octal. */
const mode = z.string().regex(/^[0-7]{3,4}$/, 'must be three or four octal digits');

/** A file or directory. `mode` is symbolic, for example `-rw-r--r--`. Directories have size 0. */
export const fileInfo = z.looseObject({
  name: z.string(),
  path: z.string(),
  size_bytes: z.int(),
  is_dir: z.boolean(),
  mod_time: timestamp,
  mode: z.string(),
});

export type FileInfo = z.output<typeof fileInfo>;

/** A change that a watch reports. A renamed file has a `RENAME` with its old path and a `CREATE` with the new one. */
export const fileEvent = z.looseObject({
  type: z.enum(['CREATE', 'WRITE', 'DELETE', 'RENAME']),
  path: z.string(),
  name: z.string().optional(),
  is_dir: z.boolean().optional(),
});

export type FileEvent = z.output<typeof fileEvent>;

const path = z.strictObject({ path: absolutePath });

const upload = z.strictObject({
  files: z.array(z.strictObject({ dest_path: absolutePath, file: filePart })).min(1, 'must have at least one file'),
});

const zipUpload = z.strictObject({ dest_path: absolutePath, zip_file: filePart });

/** The operations on the files of a session. */
export const files = {
  readFile: operation('GET /browsers/{id}/fs/read_file', 'Read a file of the session', {
    query: path,
    responses: { 200: octets() },
  }),
  writeFile: operation(
    'PUT /browsers/{id}/fs/write_file',
    'Write a file into the session and create its parent directories; an existing file keeps its mode',
    {
      query: path.extend({
        mode: mode.default('644'),
        mod_time: timestamp
          .optional()
          .describe("Modification time of the file. Default: now (this service's own parameter)"),
      }),
      body: octets(),
      responses: { 201: empty },
    },
  ),
  listFiles: operation('GET /browsers/{id}/fs/list_files', 'List a directory, one level, sorted by name', {
    query: path,
    responses: { 200: json(z.array(fileInfo)) },
  }),
  fileInfo: operation('GET /browsers/{id}/fs/file_info', 'Describe a file or directory, following symbolic links', {
    query: path,
    responses: { 200: json(fileInfo) },
  }),
  createDirectory: operation(
    'PUT /browsers/{id}/fs/create_directory',
    'Create a directory and its parents; succeeds if it exists',
    { body: path.extend({ mode: mode.default('755') }), responses: { 201: empty } },
  ),
  deleteFile: operation('PUT /browsers/{id}/fs/delete_file', 'Delete a file or an empty directory', {
    body: path,
    responses: { 200: empty },
  }),
  deleteDirectory: operation(
    'PUT /browsers/{id}/fs/delete_directory',
    'Delete a directory with its content; succeeds if it is missing',
    { body: path, responses: { 200: empty } },
  ),
  move: operation('PUT /browsers/{id}/fs/move', 'Rename a file or directory; replaces an existing file', {
    body: z.strictObject({ src_path: absolutePath, dest_path: absolutePath }),
    responses: { 200: empty },
    repeatable: false,
  }),
  setFilePermissions: operation(
    'PUT /browsers/{id}/fs/set_file_permissions',
    'Set the mode of a file, and its owner and group if the service has the right',
    {
      body: path.extend({ mode, owner: z.string().optional(), group: z.string().optional() }),
      responses: { 200: empty },
    },
  ),
  downloadDirZip: operation(
    'GET /browsers/{id}/fs/download_dir_zip',
    'Download the directories and regular files below a directory as a zip archive; skips links',
    { query: path, responses: { 200: octets('application/zip') } },
  ),
  upload: operation(
    'POST /browsers/{id}/fs/upload',
    'Write files into the session, all or none, with mode 644; replaces existing files and creates parent directories',
    { body: multipart(upload, { plain: 'files' }), responses: { 201: empty }, repeatable: true },
  ),
  uploadZip: operation(
    'POST /browsers/{id}/fs/upload_zip',
    'Extract a zip archive, all entries or none, into a directory of the session; creates the directory',
    { body: multipart(zipUpload), responses: { 201: empty }, repeatable: true },
  ),
  watch: {
    start: operation(
      'POST /browsers/{id}/fs/watch',
      'Watch a file or directory for changes until the watch is stopped or the session ends',
      {
        body: path.extend({
          recursive: z.boolean().default(false).describe('Also watch the directories below'),
        }),
        responses: { 201: json(z.looseObject({ watch_id: z.string() })) },
        errors: [529],
      },
    ),
    events: operation(
      'GET /browsers/{id}/fs/watch/{watch_id}/events',
      'Read the changes since the start of the watch or the last read; several readers share them. Ends with the watch',
      { responses: { 200: events(fileEvent) }, errors: [529] },
    ),
    stop: operation('DELETE /browsers/{id}/fs/watch/{watch_id}', 'Stop a watch, which ends its event streams', {
      responses: { 204: empty },
    }),
  },
};
