import { z } from 'zod';
import { empty, json, octets, operation } from './operation.ts';
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

const path = z.strictObject({ path: absolutePath });

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
    errors: [403, 404, 507],
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
    errors: [403, 404, 409, 507],
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
    errors: [403, 404],
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
};
