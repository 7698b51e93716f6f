import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import type { WaitingBytes } from '../process/waiting-bytes.ts';
import type { Launcher } from '../sessions/launcher.ts';
import type { LocalLauncher } from '../sessions/local/local-launcher.ts';
import { SessionHome, type HomeParts } from '../sessions/local/session-home.ts';
import type { Session, SessionSettings } from '../sessions/session.ts';
import type { OtherEngine } from '../sessions/launch.ts';
import { launchEngineBrowser, type EngineBrowser } from './engine-browser.ts';
import { findEngine } from './engine-builds.ts';
import { EngineSession, type EngineStart } from './engine-session.ts';
import { minorOf, type InstalledPlaywright } from './installed-playwright.ts';
import type { OfferedEngines } from './offered-engines.ts';

type Parts = HomeParts & {
  clock: Clock;
  waitingBytes: WaitingBytes;
  playwrights: readonly InstalledPlaywright[];
  /** The service's Firefox for versions of Playwright whose own build isn't there. */
  firefox: string | undefined;
  offered: OfferedEngines;
};

/** Starts sessions of all engines on this machine. */
export class EngineLauncher implements Launcher<Session> {
  readonly hasDisplay: boolean;
  readonly launchesAtOnce: number;
  readonly offered: OfferedEngines;
  readonly #chromium: LocalLauncher;
  readonly #parts: Parts;
  /** The version that launched an engine last: the next client probably has the same one. */
  readonly #last = new Map<OtherEngine, InstalledPlaywright>();

  constructor(chromium: LocalLauncher, parts: Parts) {
    this.#chromium = chromium;
    this.#parts = parts;
    this.offered = parts.offered;
    this.hasDisplay = chromium.hasDisplay;
    this.launchesAtOnce = chromium.launchesAtOnce;
  }

  async checkChannel(channel: string): Promise<unknown> {
    return await this.#chromium.checkChannel(channel);
  }

  async checkEngine(engine: OtherEngine, version: string): Promise<void> {
    for (const playwright of this.#offered(engine, version)) await findEngine(engine, playwright, this.#parts);
  }

  async probe(signal: AbortSignal): Promise<void> {
    await this.#chromium.probe(signal);
  }

  async start(settings: SessionSettings, signal: AbortSignal): Promise<Session> {
    const { engine, proxy } = settings;
    if (!engine) {
      // The answer about the session tells the versions that record videos.
      const reading = this.offered.read();
      const session = await this.#chromium.start(settings, signal);
      await reading;
      return session;
    }
    const home = await SessionHome.make(this.#parts);
    try {
      const start = (asked: EngineStart, until: AbortSignal) => this.#launch(engine, home, asked, until);
      const browser = await start({ proxy, playwright: undefined }, signal);
      return new EngineSession(this.#parts, home, { settings: { ...settings, engine }, browser, start });
    } catch (error) {
      await home.remove();
      throw error;
    }
  }

  /** Launches the browser by the asked version, else by the first one that can. Throws the error of the first one. */
  async #launch(
    engine: OtherEngine,
    home: SessionHome,
    { proxy, playwright: version }: EngineStart,
    signal: AbortSignal,
  ): Promise<EngineBrowser> {
    const { isolation, environment } = this.#parts;
    let failure: unknown;
    for (const playwright of this.#offered(engine, version)) {
      try {
        const build = await findEngine(engine, playwright, this.#parts);
        const options = { engine, build, playwright, proxy, isolation, environment, signal };
        const browser = await launchEngineBrowser(home, options);
        this.#last.set(engine, playwright);
        return browser;
      } catch (error) {
        signal.throwIfAborted();
        failure ??= error;
      }
    }
    const needed =
      version === undefined ? '' : ` ${minorOf(version)}: install it there, or name it by --playwright-core`;
    throw failure ?? new OperationError('no_browser', `${engine} needs a Playwright${needed} on the service's machine`);
  }

  /** The versions to try, or the asked one. */
  #offered(engine: OtherEngine, version: string | undefined): InstalledPlaywright[] {
    const { playwrights } = this.#parts;
    if (version !== undefined) return playwrights.filter(({ minor }) => minor === minorOf(version));
    const last = this.#last.get(engine);
    return [...new Set([...(last ? [last] : []), ...playwrights])];
  }
}
