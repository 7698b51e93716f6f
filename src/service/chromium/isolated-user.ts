import { chmod, chown, copyFile } from 'node:fs/promises';
import path from 'node:path';
import { giveTree } from '../process/trees/hand-over.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
import type { Namespaces } from '../process/children/namespaces.ts';
import type { SystemUser, SystemUsers } from '../process/children/system-users.ts';
import type { Environment } from './playwright-builds.ts';

/** A system user that one session or one app has to itself, with a directory that no other user can enter. */
export class IsolatedUser {
  readonly user: SystemUser;
  readonly home: string;
  readonly temporary: string;
  readonly directory: string;
  /** The namespaces of its processes. `undefined` before they are made, and if the system refuses them. */
  namespaces: Namespaces | undefined;
  readonly #users: SystemUsers;
  #ended: Promise<void> | undefined;

  constructor(users: SystemUsers, user: SystemUser, directory: string) {
    this.user = user;
    this.home = path.join(directory, 'home');
    this.temporary = path.join(directory, 'tmp');
    this.#users = users;
    this.directory = directory;
  }

  /** Makes the user the owner of a new directory and of everything in it. Only root may be able to enter it so far. */
  async own(directory: string): Promise<void> {
    await giveTree(directory, this.user);
  }

  /** Returns the environment with the user's own directories instead of those of the service's user. */
  async environment(environment: Environment): Promise<Environment> {
    const ofService = /^(HOME|USER|LOGNAME|TEMP|TMP|XDG_\w+|DBUS_\w+)$/;
    const kept = Object.entries(environment).filter(([name]) => !ofService.test(name));
    const own = { ...Object.fromEntries(kept), HOME: this.home, TMPDIR: this.temporary };
    const { XAUTHORITY } = environment;
    if (XAUTHORITY === undefined) return own;
    // Not in the home: the user could put a link there, and root would write to its target.
    const copy = path.join(this.directory, '.Xauthority');
    await copyFile(XAUTHORITY, copy);
    await chown(copy, 0, this.user.gid);
    await chmod(copy, 0o640);
    return { ...own, XAUTHORITY: copy };
  }

  /** Kills the user's processes. Rejects if they don't end within 5 s. */
  async end(): Promise<void> {
    await (this.#ended ??= this.#end());
  }

  /** Kills the user's processes, deletes its directory, and frees its id for another session. */
  async release(): Promise<void> {
    await this.end();
    await removeTree(this.directory);
    await this.#users.release(this.user);
  }

  async #end(): Promise<void> {
    this.namespaces?.close();
    await this.namespaces?.ended;
    const sharesDirectories = this.namespaces === undefined;
    await this.#users.end(this.user, { sharesDirectories, directory: this.directory });
  }
}
