import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { invalidField, OperationError } from '../../../contract/errors.ts';
import type { CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import { loadExtension, unloadExtension } from '../../chromium/extensions.ts';
import type { IsolatedUser } from '../../chromium/isolated-user.ts';
import { copyTree } from '../../process/trees/copy-tree.ts';
import { removeTree } from '../../process/trees/remove-tree.ts';
import { newId } from '../../process/id.ts';
import { errorCode, isDiskFull } from '../../process/system-error.ts';

/** The unpacked files of an extension, and its name in messages. */
export type ExtensionFiles = { name: string; directory: string };

/** The stored extensions that sessions start with. */
export type StoredExtensions = {
  /** The directory on the machine with the files. */
  filesOf(id: string): string;
  /** Records that a browser starts with the extension now. */
  used(id: string): void;
};

/** The extensions of a session: copies their files, and loads them into the session's browsers. */
export class SessionExtensions {
  readonly #directory: string;
  readonly #isolatedUser: IsolatedUser | undefined;
  #copies: ExtensionFiles[] = [];

  /** Each copy belongs to the session's user, because Chromium writes into it. The directory belongs to the service. */
  constructor(directory: string, isolatedUser: IsolatedUser | undefined) {
    this.#directory = directory;
    this.#isolatedUser = isolatedUser;
  }

  get isEmpty(): boolean {
    return this.#copies.length === 0;
  }

  /**
   * Copies extensions into the session, all or none. Throws `bad_request` for a taken name or a deleted extension,
   * `insufficient_storage`, and the signal's reason.
   */
  async add(extensions: readonly ExtensionFiles[], signal: AbortSignal): Promise<ExtensionFiles[]> {
    const added: ExtensionFiles[] = [];
    try {
      await mkdir(this.#directory, { recursive: true });
      // The session's user may enter its copies, whatever the umask is.
      await chmod(this.#directory, 0o711);
      for (const { name, directory } of extensions) {
        if ([...this.#copies, ...added].some((other) => other.name === name))
          throw invalidField('extensions', `the session has an extension named ${name} already: choose another name`);
        const copy = { name, directory: path.join(this.#directory, newId()) };
        added.push(copy);
        await copyTree(directory, copy.directory, signal);
        await this.#isolatedUser?.own(copy.directory);
      }
    } catch (error) {
      await this.remove(added);
      signal.throwIfAborted();
      if (isDiskFull(error))
        throw new OperationError(
          'insufficient_storage',
          'the extensions could not be copied, because the disk of the service is full: make room there',
        );
      if (errorCode(error) === 'ENOENT')
        throw invalidField('extensions', `${added.at(-1)?.name} was deleted meanwhile: upload it again`);
      throw error;
    }
    this.#copies.push(...added);
    return added;
  }

  async remove(extensions: readonly ExtensionFiles[]): Promise<void> {
    this.#copies = this.#copies.filter((copy) => !extensions.includes(copy));
    await Promise.all(extensions.map(({ directory }) => removeTree(directory)));
  }

  /** Loads copies into a browser, all or none. Default: all. Throws like `loadExtension`. */
  async loadInto(cdp: CdpConnection, extensions: readonly ExtensionFiles[] = this.#copies): Promise<void> {
    const ids: string[] = [];
    try {
      for (const extension of extensions) ids.push(await loadExtension(cdp, extension));
    } catch (error) {
      for (const id of ids) await unloadExtension(cdp, id).catch(() => {});
      throw error;
    }
  }
}
