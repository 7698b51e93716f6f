import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { Profile } from '../../contract/profiles.ts';
import type { ChromiumSettings } from '../chromium/chromium.ts';
import { findChromium, hasDisplay, type Environment } from '../chromium/find-chromium.ts';
import { Isolation } from '../chromium/isolation.ts';
import type { Resident } from '../chromium/resident.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import { removeTree } from '../process/remove-tree.ts';
import type { Launcher } from './launcher.ts';
import { downloadDirectory, LocalSession, type CaptureTelemetry, type LaunchedChromium } from './local-session.ts';
import type { ProfileCopies } from './session-profile.ts';
import type { SessionSettings } from './session.ts';

const probeSettings: SessionSettings = {
  projectId: '',
  headless: true,
  stealth: false,
  kioskMode: false,
  timeoutSeconds: 60,
  viewport: { width: 320, height: 240 },
};

/** Starts sessions on this machine. */
export class LocalLauncher implements Launcher<LocalSession> {
  readonly hasDisplay: boolean;
  /** A starting Chromium needs half a core on average. */
  readonly launchesAtOnce = 2 * availableParallelism();
  readonly #clock: Clock;
  readonly #directory: string;
  readonly #profiles: ProfileCopies;
  readonly #chromium: ChromiumSettings;
  readonly #environment: Environment;
  readonly #isolation: Isolation;
  readonly #downloadQuota: number;
  readonly #playwrightVersions: readonly string[];
  readonly #capture: CaptureTelemetry | undefined;
  readonly #warnings = new Set<string>();

  /** Each session gets a directory in `directory`, which nothing else may use. */
  constructor(options: {
    clock: Clock;
    directory: string;
    profiles: ProfileCopies;
    chromium: ChromiumSettings;
    /** Of the downloads of each session's pages, in bytes. */
    downloadQuota?: number;
    environment?: Environment;
    /** The versions of Playwright whose protocol clients may speak. Default: none. */
    playwrightVersions?: readonly string[];
    /** Default: there is no telemetry. */
    capture?: CaptureTelemetry;
    /** Default: all browsers run as the service's user. */
    isolation?: Isolation;
  }) {
    this.#clock = options.clock;
    this.#directory = path.resolve(options.directory);
    this.#profiles = options.profiles;
    this.#chromium = options.chromium;
    this.#environment = options.environment ?? process.env;
    this.#isolation = options.isolation ?? new Isolation(undefined, this.#directory);
    this.#downloadQuota = options.downloadQuota ?? Infinity;
    this.#capture = options.capture;
    this.#playwrightVersions = options.playwrightVersions ?? [];
    this.hasDisplay = hasDisplay(this.#environment);
  }

  async start(settings: SessionSettings, signal: AbortSignal): Promise<LocalSession> {
    const id = newId();
    const directory = path.join(this.#directory, id);
    const root = path.join(directory, 'root');
    let resident: Resident | undefined;
    try {
      resident = await this.#isolation.settle(directory);
      await Promise.all(
        [path.join(root, 'tmp'), path.join(root, downloadDirectory)].map((made) => mkdir(made, { recursive: true })),
      );
      await resident?.own(root);
      const launched = await this.#launch(settings, path.join(directory, 'user-data'), resident, signal);
      const session = new LocalSession({
        id,
        directory,
        root,
        resident,
        settings,
        launched,
        playwrightVersions: this.#playwrightVersions,
        downloadQuota: this.#downloadQuota,
        capture: this.#capture,
        clock: this.#clock,
      });
      try {
        await session.prepare(launched.copy?.sessionCookies ?? []);
        signal.throwIfAborted();
      } catch (error) {
        await session.discard();
        throw error;
      }
      return session;
    } catch (error) {
      await (resident ? resident.leave() : removeTree(directory));
      throw error;
    }
  }

  /** Starts a browser, waits for its answer and ends it. Throws the errors of `start`. */
  async probe(signal: AbortSignal): Promise<void> {
    const session = await this.start(probeSettings, signal);
    try {
      await session.ping();
    } finally {
      await session.discard();
    }
  }

  /** Throws like `start` and the session's `loadProfile`. */
  async loadProfile(session: LocalSession, profile: Profile, saveChanges: boolean, signal: AbortSignal): Promise<void> {
    const directory = path.join(this.#directory, session.id);
    const userDataDirectory = path.join(directory, `user-data-${newId()}`);
    const settings = { ...session.settings, profile };
    // The new browser can use the tunnel in its default context, too.
    if (session.exposure) settings.tunnel = true;
    try {
      await session.loadProfile(profile, saveChanges, (ended) =>
        this.#launch(settings, userDataDirectory, session.resident, AbortSignal.any([ended, signal])),
      );
    } catch (error) {
      // If the session ended meanwhile, the copy may have been written after its directory was removed.
      const left = session.alive ? userDataDirectory : directory;
      await removeTree(left);
      throw error;
    }
  }

  /** Starts a Chromium on a new user-data directory. */
  async #launch(
    { headless, viewport, profile, proxy, tunnel, extraSwitches }: SessionSettings,
    directory: string,
    resident: Resident | undefined,
    signal: AbortSignal,
  ): Promise<LaunchedChromium> {
    const executable = await findChromium(headless, this.#chromium.executable, this.#environment, (text) =>
      this.#warn(text),
    );
    const copy = profile && (await this.#profiles.copy(profile.id, directory, signal));
    if (!copy) await mkdir(directory, { recursive: true, mode: 0o700 });
    const chromium = await this.#isolation.launch({
      executable,
      resident,
      userDataDirectory: directory,
      headless,
      viewport,
      environment: this.#environment,
      signal,
      proxy,
      tunnel,
      extraSwitches,
      sandbox: this.#chromium.sandbox,
      blockLoopback: this.#chromium.blockLoopback,
    });
    return { chromium, copy };
  }

  /** Logs each warning once, not for each browser. */
  #warn(text: string): void {
    if (!this.#warnings.has(text)) console.error(text);
    this.#warnings.add(text);
  }
}
