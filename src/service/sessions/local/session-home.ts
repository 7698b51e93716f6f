import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Chromium, ChromiumSettings } from '../../chromium/chromium.ts';
import { findChannel, findChromium } from '../../chromium/find-chromium.ts';
import type { Environment } from '../../chromium/playwright-builds.ts';
import type { IsolatedUser } from '../../chromium/isolated-user.ts';
import type { Isolation } from '../../chromium/isolation.ts';
import type { Namespaces } from '../../process/children/namespaces.ts';
import { newId } from '../../process/id.ts';
import { removeTree } from '../../process/trees/remove-tree.ts';
import type { SessionSettings } from '../session.ts';
import { SessionExtensions, type StoredExtensions } from './session-extensions.ts';
import { makeRoot } from './session-files.ts';
import type { ProfileCopies, ProfileCopy } from './local-profile.ts';

/** The parts of the service with which browsers start on this machine. */
export type HomeParts = {
  /** Each session gets a directory in it, which nothing else may use. */
  directory: string;
  profiles: ProfileCopies;
  /** Default: none. */
  extensions?: StoredExtensions;
  chromium: ChromiumSettings;
  environment: Environment;
  isolation: Isolation;
};

/** A Chromium that was started for a session, with its user-data directory and its copy of the profile. */
export type LaunchedChromium = { chromium: Chromium; directory: string; copy: ProfileCopy | undefined };

/** The settings of a session that count when its Chromium starts. */
export type ChromiumOf = Pick<SessionSettings, 'headless' | 'viewport' | 'tunnel' | 'extraSwitches' | 'channel'> & {
  proxy?: SessionSettings['proxy'] | undefined;
};

/** Warnings that were logged already. */
const warned = new Set<string>();

/** The place of a session on this machine: its directory, user, namespaces and extensions. Starts its browsers there. */
export class SessionHome {
  readonly id: string;
  readonly directory: string;
  /** The directory that callers see as `/`. */
  readonly root: string;
  readonly extensions: SessionExtensions;
  readonly isolatedUser: IsolatedUser | undefined;
  readonly namespaces: Namespaces | undefined;
  readonly #parts: HomeParts;

  private constructor(
    parts: HomeParts,
    own: { id: string; directory: string; isolatedUser: IsolatedUser | undefined; namespaces: Namespaces | undefined },
  ) {
    this.id = own.id;
    this.directory = own.directory;
    this.root = path.join(own.directory, 'root');
    this.extensions = new SessionExtensions(path.join(own.directory, 'extensions'), own.isolatedUser);
    this.isolatedUser = own.isolatedUser;
    this.namespaces = own.namespaces;
    this.#parts = parts;
  }

  /** Makes the place of a new session. Call `remove` when the session has ended or doesn't start. */
  static async make(parts: HomeParts): Promise<SessionHome> {
    const id = newId();
    const directory = path.join(parts.directory, id);
    let isolatedUser: IsolatedUser | undefined;
    try {
      isolatedUser = await parts.isolation.createUser(directory);
      const namespaces = isolatedUser ? isolatedUser.namespaces : await parts.isolation.openNamespaces();
      return new SessionHome(parts, { id, directory, isolatedUser, namespaces });
    } catch (error) {
      await removeHome(directory, isolatedUser);
      throw error;
    }
  }

  /** Makes the session's files, and starts its first Chromium. */
  async open(settings: SessionSettings, signal: AbortSignal): Promise<LaunchedChromium> {
    await makeRoot(this);
    const stored = this.#parts.extensions;
    if (stored && settings.extensions) {
      const files = settings.extensions.map(({ id, name = id }) => ({ name, directory: stored.filesOf(id) }));
      await this.extensions.add(files, signal);
      for (const { id } of settings.extensions) stored.used(id);
    }
    return await this.launch(settings, path.join(this.directory, 'user-data'), signal);
  }

  /**
   * Starts a Chromium on a new user-data directory, with a copy of the settings' profile. Leaves the directory if that
   * fails.
   */
  async launch(settings: SessionSettings, directory: string, signal: AbortSignal): Promise<LaunchedChromium> {
    const { profile } = settings;
    const copy = profile && (await this.#parts.profiles.copy(profile.id, directory, signal));
    if (!copy) await mkdir(directory, { mode: 0o700 });
    await this.isolatedUser?.own(directory);
    const chromium = await this.start(settings, directory, signal);
    try {
      await this.extensions.loadInto(chromium.cdp);
    } catch (error) {
      await chromium.kill();
      throw error;
    }
    return { chromium, copy, directory };
  }

  /** Starts a Chromium on a user-data directory of the session, ready for its extensions. */
  async start(settings: ChromiumOf, userDataDirectory: string, signal: AbortSignal): Promise<Chromium> {
    const { chromium, environment, isolation } = this.#parts;
    const { headless, viewport, proxy, tunnel, extraSwitches, channel } = settings;
    const extensions = !this.extensions.isEmpty;
    // A profile can contain a list of programs that extensions may start. Remove it.
    if (extensions) await removeTree(path.join(userDataDirectory, 'NativeMessagingHosts'));
    return await isolation.launch({
      executable:
        channel === undefined
          ? await findChromium(headless && !extensions, chromium.executable, environment, warnOnce)
          : await findChannel(channel, chromium.executable, environment),
      isolatedUser: this.isolatedUser,
      namespaces: this.namespaces,
      userDataDirectory,
      headless,
      extensions,
      viewport,
      environment,
      signal,
      proxy,
      tunnel,
      extraSwitches,
      sandbox: chromium.sandbox,
      blockLoopback: chromium.blockLoopback,
    });
  }

  /** Ends the namespaces and the user, and removes all files. */
  async remove(): Promise<void> {
    this.namespaces?.close();
    await removeHome(this.directory, this.isolatedUser);
  }
}

async function removeHome(directory: string, isolatedUser: IsolatedUser | undefined): Promise<void> {
  await (isolatedUser ? isolatedUser.release() : removeTree(directory));
}

/** Logs each warning once, not for each browser. */
function warnOnce(text: string): void {
  if (!warned.has(text)) console.error(text);
  warned.add(text);
}
