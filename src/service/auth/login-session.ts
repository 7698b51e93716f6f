import type { HeldSessions } from '../browsers/held-sessions.ts';
import type { ReplayRecord, Replays } from '../browsers/replays.ts';
import type { Session } from '../browsers/session.ts';
import { sessionSettings, type Surroundings } from '../browsers/session-settings.ts';

export type LoginSessionMeans = {
  sessions: HeldSessions;
  replays: Replays;
  surroundingsOf: (projectId: string) => Surroundings;
  /** Creates the profile of this name where there is none. */
  ensureProfile: (projectId: string, name: string) => void;
};

type LoginSessionOptions = {
  projectId: string;
  profileName: string;
  proxyId: string | undefined;
  /** Whether `save` will be called. */
  saveChanges: boolean;
  isRecorded: boolean;
  signal: AbortSignal;
};

/** Enough for whoever looks at it meanwhile; the login itself keeps it active. In seconds. */
const idleTimeout = 60;

/** A browser session on the profile of a connection, which stays active until it is disposed. */
export class LoginSession {
  readonly browser: Session;
  readonly #replays: Replays;
  readonly #replay: ReplayRecord | undefined;
  readonly #letIdle: () => void;

  private constructor(options: { browser: Session; replays: Replays; replay: ReplayRecord | undefined; letIdle: () => void }) {
    this.browser = options.browser;
    this.#replays = options.replays;
    this.#replay = options.replay;
    this.#letIdle = options.letIdle;
  }

  /** Throws what starting a session and a recording throws, and the signal's reason. */
  static async open({ sessions, replays, ...means }: LoginSessionMeans, options: LoginSessionOptions): Promise<LoginSession> {
    const { projectId, profileName: name, proxyId, saveChanges, isRecorded, signal } = options;
    means.ensureProfile(projectId, name);
    const request = { stealth: false, kiosk_mode: false, timeout_seconds: idleTimeout, profile: { name, save_changes: saveChanges } };
    const settings = sessionSettings({ ...request, ...(proxyId !== undefined && { proxy_id: proxyId }) }, means.surroundingsOf(projectId));
    const held = sessions.in(projectId);
    const browser = await held.create(settings, undefined, signal);
    const letIdle = held.keepActive(browser);
    try {
      const replay = isRecorded ? await replays.start(browser, { framerate: 10, record_audio: false }) : undefined;
      return new LoginSession({ browser, replays, replay, letIdle });
    } catch (error) {
      letIdle();
      await browser.discard();
      throw error;
    }
  }

  get id(): string {
    return this.browser.id;
  }

  get replayId(): string | undefined {
    return this.#replay?.id;
  }

  /** Ends the browser and saves the profile. Throws what kept it from that. */
  async save(): Promise<void> {
    await this.#stopReplay();
    await this.browser.end();
    await this.browser.saved();
  }

  /** Ends the browser, and saves nothing more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#letIdle();
    await this.#stopReplay();
    await this.browser.discard();
  }

  /** A recording that broke off is no reason to fail: the video up to there plays. */
  async #stopReplay(): Promise<void> {
    if (this.#replay) await this.#replays.stop(this.#replay).catch(() => {});
  }
}
