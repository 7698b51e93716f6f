import { chmod, chown, mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import { isReachable, linkTree } from '../process/trees/reachable.ts';
import { newId } from '../process/id.ts';
import { sha256 } from '../process/sha256.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
import { Namespaces } from '../process/children/namespaces.ts';
import type { SystemUsers } from '../process/children/system-users.ts';
import { launchChromium, type Chromium, type LaunchOptions } from './chromium.ts';
import { playwrightDirectory, type Environment } from './playwright-builds.ts';
import { IsolatedUser } from './isolated-user.ts';
import { isHidden, privateMounts, readOnlyMounts } from './private-mounts.ts';

/** How long after a session's start the namespaces of the next ones are made, in ms. */
const spareMs = 200;
/** So many sessions can get theirs at once. A spare takes 0.5 MB. */
const mostSpares = 4;

/** A session's namespaces, and the directory that contains its own `/tmp` and `/var/tmp`. */
type PrivateNamespaces = { directory: string; namespaces: Namespaces };

/**
 * Separates sessions from each other and from the service. If the service may change users, each session gets a user id
 * of its own, and directories that no other user can enter. If the system allows namespaces, it also gets those.
 */
export class Isolation {
  /** The versions of the programs that it has started, by their paths. */
  readonly startedVersions = new Map<string, string>();
  readonly #users: SystemUsers | undefined;
  readonly #directory: string;
  #hasSandbox = true;
  /** The namespaces from which all others are made. */
  #base: Promise<Namespaces | undefined> | undefined;
  /** Those of the next sessions, because making them takes 15 ms. */
  readonly #spares: Promise<PrivateNamespaces | undefined>[] = [];
  /** How many sessions have started since the spares were made. */
  #taken = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `directory` contains the users' directories. Without `users`, each Chromium runs as the service's user. */
  constructor(users: SystemUsers | undefined, directory: string) {
    this.#users = users;
    this.#directory = directory;
  }

  /**
   * Takes a free user id, and makes a directory for it: in the sessions' directory, unless `directory` is a path. The
   * user can enter the directory, and owns only its home and its temporary directory there. Returns `undefined` if the
   * service can't change users.
   */
  async createUser(directory: string): Promise<IsolatedUser | undefined> {
    if (!this.#users) return undefined;
    directory = path.resolve(this.#directory, directory);
    const user = await this.#users.take(directory);
    const isolatedUser = new IsolatedUser(this.#users, user, directory);
    try {
      await mkdir(directory, { recursive: true });
      await chown(directory, 0, user.gid);
      await chmod(directory, 0o710);
      for (const place of [isolatedUser.home, isolatedUser.temporary]) {
        await mkdir(place, { mode: 0o700 });
        await isolatedUser.own(place);
      }
      const own = await this.#takePrivate();
      isolatedUser.namespaces = own?.namespaces;
      if (own) await rename(own.directory, path.join(directory, 'private'));
      return isolatedUser;
    } catch (error) {
      await isolatedUser.release();
      throw error;
    }
  }

  /** Makes new namespaces. `mounts` returns the lines of `NamespacesOptions`. `undefined` if the system refuses them. */
  async openNamespaces(mounts?: () => Promise<readonly string[]>): Promise<Namespaces | undefined> {
    if (process.platform !== 'linux') return undefined;
    const within = await (this.#base ??= this.#openBase());
    return within && (await Namespaces.open({ within, ...(mounts && { mounts: await mounts() }) }));
  }

  /** Call it after the last session has ended. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    for (const spare of await Promise.all(this.#spares)) {
      spare?.namespaces.close();
      if (spare) await removeTree(spare.directory);
    }
    const base = await this.#base;
    base?.close();
    await base?.ended;
  }

  /**
   * Starts Chromium like `launchChromium`, under the user in `options.isolatedUser`. If the system forbids sandboxes, as
   * Docker's default profile does, Chromium starts without one, unless the options ask for it. The user id still
   * protects the service. The user-data directory must be the user's already.
   */
  async launch(options: LaunchOptions): Promise<Chromium> {
    const chromium = await this.#launch(options);
    this.startedVersions.set(options.executable, chromium.version);
    return chromium;
  }

  async #launch(options: LaunchOptions): Promise<Chromium> {
    if (!options.isolatedUser) return await launchChromium(options);
    const { namespaces } = options.isolatedUser;
    const executable = await this.#chromium(options.executable, options.environment);
    try {
      const sandbox = options.sandbox ?? this.#hasSandbox;
      const chromium = await launchChromium({ ...options, namespaces, executable, sandbox });
      this.#keepSpares();
      return chromium;
    } catch (error) {
      if (options.sandbox !== undefined || !this.#hasSandbox || !/no usable sandbox/i.test(String(error))) throw error;
      this.#hasSandbox = false;
      console.error(
        "Chromium runs without its sandbox: this system doesn't let it make user namespaces. Allow them, for example by a seccomp profile.",
      );
      return await launchChromium({ ...options, namespaces, executable, sandbox: false });
    }
  }

  /**
   * Returns a path at which every user can start the program `file`. If only root can enter its directory, links the
   * files in `root`, the directory that holds the whole program, into the sessions' directory.
   */
  async program(file: string, root: string): Promise<string> {
    if (!this.#users || ((await isReachable(file)) && !isHidden(file))) return file;
    const hash = sha256(root).slice(0, 16);
    const linked = path.join(this.#directory, `program-${hash}`);
    await linkTree(root, linked);
    return path.join(linked, path.relative(path.dirname(root), file));
  }

  async #chromium(executable: string, environment: Environment): Promise<string> {
    const build = path.dirname(executable);
    if (build.startsWith(playwrightDirectory(environment) + path.sep) || (await isReachable(executable)))
      return await this.program(executable, build);
    const problem = `only root can enter the directory of ${executable}, and sessions have users of their own`;
    throw new OperationError(
      'unavailable',
      `${problem}: move Chromium, for example to /opt, or pass --session-uids off`,
    );
  }

  /** Prepares the namespaces of the next sessions, a little later, so that this one's first steps aren't slower. */
  #keepSpares(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const wanted = Math.min(this.#taken, mostSpares);
      this.#taken = 0;
      while (this.#spares.length < wanted) this.#spares.push(this.#makePrivate().catch(() => undefined));
    }, spareMs).unref();
  }

  async #takePrivate(): Promise<PrivateNamespaces | undefined> {
    this.#taken += 1;
    const own = await this.#spares.shift();
    return own?.namespaces.isOpen ? own : await this.#makePrivate();
  }

  async #makePrivate(): Promise<PrivateNamespaces | undefined> {
    const directory = path.join(this.#directory, `spare-${newId()}`);
    const namespaces = await this.openNamespaces(() => privateMounts(directory, this.#directory));
    return namespaces && { directory, namespaces };
  }

  async #openBase(): Promise<Namespaces | undefined> {
    try {
      return await Namespaces.open({ mounts: this.#users ? await readOnlyMounts(this.#directory) : [] });
    } catch (error) {
      console.error(`${withoutNamespaces} (${error instanceof Error ? error.message : String(error)})`);
      return undefined;
    }
  }
}

const withoutNamespaces =
  'Sessions have no namespaces of their own, and a browser in which a program ran is not leased again. See docs/security.md.';
