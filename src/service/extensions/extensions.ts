import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import { unlessTaken, type Database } from '../database/database.ts';
import { Table, type RowOf, table } from '../database/table.ts';
import { Upload } from '../files/upload.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import { sha256OfFile } from '../process/sha256.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
import { unpackExtension } from './unpack.ts';
import { integer, optional, text, time } from '../database/columns.ts';

export type ExtensionRow = RowOf<typeof extensionsTable>;

const filesName = 'files';

/** Stores Chromium extensions that users upload. Each has a row, and a directory with its archive and its files. */
export class ExtensionStore {
  readonly #directory: string;
  readonly #rows: Table<typeof extensionsTable>;
  readonly #clock: Clock;

  private constructor(directory: string, database: Database, clock: Clock) {
    this.#directory = directory;
    this.#rows = new Table(database, extensionsTable);
    this.#clock = clock;
  }

  /**
   * Opens the store in `directory`, where no other code may write. Deletes unfinished uploads of an earlier run.
   */
  static async open(directory: string, database: Database, clock: Clock): Promise<ExtensionStore> {
    const store = new ExtensionStore(path.resolve(directory), database, clock);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const known = new Set(store.#rows.list().map(({ id }) => id));
    const left = (await readdir(directory)).filter((name) => !known.has(name));
    await Promise.all(left.map((name) => removeTree(path.join(directory, name))));
    return store;
  }

  /**
   * Stores an extension. `receive` stores the received archive and returns its host path. Throws `bad_request` and
   * `payload_too_large` for the archive, and `conflict` if the name is taken.
   */
  async add(
    projectId: string,
    receive: (upload: Upload) => Promise<{ archive: string; name?: string | undefined }>,
    signal: AbortSignal,
  ): Promise<ExtensionRow> {
    const id = newId();
    const directory = path.join(this.#directory, id);
    try {
      await mkdir(directory, { mode: 0o700 });
      await using upload = await Upload.start(directory, signal);
      const { archive, name } = await receive(upload);
      await unpackExtension(upload, archive, { root: directory, destination: filesName });
      const row = {
        id,
        project_id: projectId,
        name,
        created_at: this.#clock.now(),
        size_bytes: (await stat(archive)).size,
        checksum: await sha256OfFile(archive),
      };
      await rename(archive, this.archiveOf(id));
      return unlessTaken(
        () => this.#rows.insert(row),
        () => `an extension named ${name} exists already: choose another name, or delete that one`,
      );
    } catch (error) {
      await removeTree(directory);
      throw error;
    }
  }

  /** Gives `use` a directory beside the stored extensions, and removes it afterwards. */
  async withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
    const directory = path.join(this.#directory, newId());
    await mkdir(directory, { mode: 0o700 });
    try {
      await use(directory);
    } finally {
      await removeTree(directory);
    }
  }

  /** Finds an extension by its id or its name. The id is tried first. Throws `not_found`. */
  get(projectId: string, idOrName: string): ExtensionRow {
    const row =
      this.#rows.find({ project_id: projectId, id: idOrName }) ??
      this.#rows.find({ project_id: projectId, name: idOrName });
    if (row) return row;
    throw new OperationError('not_found', `no extension has the id or name ${idOrName}: upload it first`);
  }

  /** Finds an extension by its id, or without an id by its name. Throws `not_found`. */
  resolve(projectId: string, { id, name }: { id?: string | undefined; name?: string | undefined }): ExtensionRow {
    const row = this.#rows.find({ project_id: projectId, ...(id ? { id } : { name }) });
    if (row) return row;
    throw new OperationError('not_found', `no extension has the ${id ? `id ${id}` : `name ${name}`}: upload it first`);
  }

  /** Newest first. */
  list(projectId: string): ExtensionRow[] {
    return this.#rows.list({ project_id: projectId }, { order: 'created_at DESC, id DESC' });
  }

  /** Notes that a browser was started with the extension. */
  used(id: string): void {
    this.#rows.change({ id }, { last_used_at: this.#clock.now() });
  }

  /** The host path of the uploaded archive. */
  archiveOf(id: string): string {
    return path.join(this.#directory, id, 'archive.zip');
  }

  /** The host directory with the files. */
  filesOf(id: string): string {
    return path.join(this.#directory, id, filesName);
  }

  async delete(id: string): Promise<void> {
    this.#rows.delete({ id });
    await removeTree(path.join(this.#directory, id));
  }

  countOf(projectId: string): number {
    return this.#rows.count({ project_id: projectId });
  }
}

/** The stored extensions of Chromium. */
export const extensionsTable = table('extensions', {
  id: text(),
  project_id: text(),
  /** Unique in the project. */
  name: optional(text()),
  created_at: time(),
  last_used_at: optional(time()),
  /** Of the zip archive. */
  size_bytes: integer(),
  /** SHA-256 of the zip archive. */
  checksum: text(),
}).with({ rules: ['UNIQUE (project_id, name)'] });
