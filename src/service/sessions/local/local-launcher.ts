import { availableParallelism } from 'node:os';
import path from 'node:path';
import { findChannel, hasDisplay } from '../../chromium/find-chromium.ts';
import { Isolation } from '../../chromium/isolation.ts';
import { WaitingBytes } from '../../process/waiting-bytes.ts';
import type { Launcher } from '../launcher.ts';
import type { SessionSettings } from '../session.ts';
import { LocalSession, type SessionParts } from './local-session.ts';
import { SessionHome } from './session-home.ts';

const probeSettings: SessionSettings = {
  projectId: '',
  headless: true,
  stealth: false,
  kioskMode: false,
  timeoutSeconds: 60,
  viewport: { width: 320, height: 240 },
};

type Required = 'clock' | 'directory' | 'profiles' | 'chromium';

/** Starts sessions on this machine. */
export class LocalLauncher implements Launcher<LocalSession> {
  readonly hasDisplay: boolean;
  /** Two for each core, because a starting Chromium needs half a core on average. */
  readonly launchesAtOnce = 2 * availableParallelism();
  readonly #parts: SessionParts;

  /** By default, all browsers run as the service's user, there is no limit of downloads, and memory is theirs alone. */
  constructor(parts: Pick<SessionParts, Required> & Partial<SessionParts>) {
    const directory = path.resolve(parts.directory);
    this.#parts = {
      environment: process.env,
      isolation: new Isolation(undefined, directory),
      playwrightVersions: [],
      downloadQuota: Infinity,
      waitingBytes: new WaitingBytes(),
      ...parts,
      directory,
    };
    this.hasDisplay = hasDisplay(this.#parts.environment);
  }

  async checkChannel(channel: string): Promise<unknown> {
    const { chromium, environment } = this.#parts;
    return await findChannel(channel, chromium.executable, environment);
  }

  async start(settings: SessionSettings, signal: AbortSignal): Promise<LocalSession> {
    const home = await SessionHome.make(this.#parts);
    try {
      const launched = await home.open(settings, signal);
      const session = new LocalSession(this.#parts, home, { settings, launched });
      try {
        await session.prepare(launched.copy?.sessionCookies ?? []);
        signal.throwIfAborted();
      } catch (error) {
        await session.discard();
        throw error;
      }
      return session;
    } catch (error) {
      await home.remove();
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
}
