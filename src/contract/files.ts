import { z } from 'zod';
import { filePart } from './file-part.ts';
import { empty, events, json, multipart, octets, operation } from './operation.ts';
import { absolutePath, timestamp } from './values.ts';

/** Permission bits in octal. */
const mode = z.string().regex(/^[0-7]{3,4}$/, 'must be three or four octal digits');

/** `mode` is symbolic here, `-rw-r--r--` for instance; directories have size 0. */
export const fileInfo = z.looseObject({
  name: z.string(),
  path: z.string(),
  size_bytes: z.int(),
  is_dir: z.boolean(),
  mod_time: timestamp,
  mode: z.string(),
});

export type FileInfo = z.output<typeof fileInfo>;

/** A change that a watch tells of. A renamed file has a `RENAME` with its old path and a `CREATE` with the new one. */
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

export const files = {
  readFile: operation({
    method: 'GET',
    path: '/browsers/{id}/fs/read_file',
    summary: 'Read a file of the session',
    query: path,
    responses: { 200: octets() },
    errors: [403, 404],
  }),
  writeFile: operation({
    method: 'PUT',
    path: '/browsers/{id}/fs/write_file',
    summary: 'Write a file into the session; missing parent directories are made, an existing file keeps its mode',
    query: path.extend({ mode: mode.default('644') }),
    body: octets(),
    responses: { 201: empty },
    errors: [403, 404],
  }),
  listFiles: operation({
    method: 'GET',
    path: '/browsers/{id}/fs/list_files',
    summary: 'List a directory, one level, sorted by name',
    query: path,
    responses: { 200: json(z.array(fileInfo)) },
    errors: [403, 404],
  }),
  fileInfo: operation({
    method: 'GET',
    path: '/browsers/{id}/fs/file_info',
    summary: 'Describe a file or directory, following symbolic links',
    query: path,
    responses: { 200: json(fileInfo) },
    errors: [403, 404],
  }),
  createDirectory: operation({
    method: 'PUT',
    path: '/browsers/{id}/fs/create_directory',
    summary: 'Make a directory and its parents; one that exists is a success',
    body: path.extend({ mode: mode.default('755') }),
    responses: { 201: empty },
    errors: [403, 404, 409],
  }),
  deleteFile: operation({
    method: 'PUT',
    path: '/browsers/{id}/fs/delete_file',
    summary: 'Delete a file or an empty directory',
    body: path,
    responses: { 200: empty },
    errors: [403, 404, 409],
  }),
  deleteDirectory: operation({
    method: 'PUT',
    path: '/browsers/{id}/fs/delete_directory',
    summary: 'Delete a directory with all it holds; a missing one is a success',
    body: path,
    responses: { 200: empty },
    errors: [403, 404, 409],
  }),
  move: operation({
    method: 'PUT',
    path: '/browsers/{id}/fs/move',
    summary: 'Rename a file or directory, over an existing file if there is one',
    body: z.strictObject({ src_path: absolutePath, dest_path: absolutePath }),
    responses: { 200: empty },
    errors: [403, 404, 409],
    repeatable: false,
  }),
  setFilePermissions: operation({
    method: 'PUT',
    path: '/browsers/{id}/fs/set_file_permissions',
    summary: 'Set the mode of a file, and its owner and group as far as the service may',
    body: path.extend({ mode, owner: z.string().optional(), group: z.string().optional() }),
    responses: { 200: empty },
    errors: [403, 404],
  }),
  downloadDirZip: operation({
    method: 'GET',
    path: '/browsers/{id}/fs/download_dir_zip',
    summary: 'Download a directory as a zip archive of its directories and regular files; links are left out',
    query: path,
    responses: { 200: octets('application/zip') },
    errors: [403, 404],
  }),
  upload: operation({
    method: 'POST',
    path: '/browsers/{id}/fs/upload',
    summary: 'Write files into the session, all or none, over existing ones and with mode 644; missing parent directories are made',
    body: multipart(upload, { plain: 'files' }),
    responses: { 201: empty },
    errors: [403, 404],
    repeatable: true,
  }),
  uploadZip: operation({
    method: 'POST',
    path: '/browsers/{id}/fs/upload_zip',
    summary: 'Extract a zip archive into a directory of the session, which is made where it is missing; all entries or none',
    body: multipart(zipUpload),
    responses: { 201: empty },
    errors: [403, 404],
    repeatable: true,
  }),
  watch: {
    start: operation({
      method: 'POST',
      path: '/browsers/{id}/fs/watch',
      summary: 'Watch a file or directory for changes until the watch is stopped or the session ends',
      body: path.extend({ recursive: z.boolean().default(false).describe('Whether directories below are watched too') }),
      responses: { 201: json(z.looseObject({ watch_id: z.string() })) },
      errors: [403, 404, 409, 529],
    }),
    events: operation({
      method: 'GET',
      path: '/browsers/{id}/fs/watch/{watch_id}/events',
      summary: 'Read the changes since the watch was started or last read; several readers share them. Ends with the watch',
      responses: { 200: events(fileEvent) },
      errors: [404, 529],
    }),
    stop: operation({
      method: 'DELETE',
      path: '/browsers/{id}/fs/watch/{watch_id}',
      summary: 'Stop a watch, which ends its event streams',
      responses: { 204: empty },
      errors: [404],
    }),
  },
};
