import type { Sessions } from '../../sessions/sessions.ts';
import type { Replays, ReplayRecord } from '../../replays/replays.ts';
import type { CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import type { OpenCdp, Session } from '../../sessions/session.ts';
import { sessionSettings, type Surroundings } from '../../sessions/session-settings.ts';

export type LoginSessionDependencies = {
  sessions: Sessions;
  replays: Replays;
  surroundingsOf: (projectId: string) => Surroundings;
  /** Creates the profile of this name if it is missing. */
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

/** The idle timeout in seconds. The login itself keeps the session active. */
const idleTimeout = 60;

/**
 * The browser session in which a login or health check runs, with the connection's profile. Active until it is
 * disposed.
 */
export class LoginSession {
  readonly browser: Session;
  readonly cdp: CdpConnection;
  readonly replayId: string | undefined;
  readonly #letIdle: () => void;
  readonly #stopReplay: () => Promise<void>;

  private constructor(
    browser: Session,
    { cdp, close }: OpenCdp,
    letIdle: () => void,
    replay: ReplayRecord | undefined,
    replays: Replays,
  ) {
    this.browser = browser;
    this.cdp = cdp;
    this.replayId = replay?.id;
    this.#letIdle = () => {
      letIdle();
      close();
    };
    // A broken recording doesn't fail the login: its video plays up to the break.
    this.#stopReplay = async () => {
      if (replay) await replays.stop(replay).catch(() => {});
    };
  }

  /** Throws the errors of starting a session and a recording, and the signal's reason. */
  static async open(
    { sessions, replays, ...dependencies }: LoginSessionDependencies,
    options: LoginSessionOptions,
  ): Promise<LoginSession> {
    const { projectId, profileName: name, proxyId, saveChanges, isRecorded, signal } = options;
    dependencies.ensureProfile(projectId, name);
    const request = {
      stealth: false,
      kiosk_mode: false,
      timeout_seconds: idleTimeout,
      profile: { name, save_changes: saveChanges },
    };
    const settings = sessionSettings(
      { ...request, ...(proxyId !== undefined && { proxy_id: proxyId }) },
      dependencies.surroundingsOf(projectId),
    );
    const browser = await sessions.createSingle(settings, undefined, signal);
    const letIdle = browser.keepActive();
    try {
      const replay = isRecorded ? await replays.start(browser, { framerate: 10, record_audio: false }) : undefined;
      return new LoginSession(browser, await browser.openCdp(), letIdle, replay, replays);
    } catch (error) {
      letIdle();
      await browser.discard();
      throw error;
    }
  }

  get id(): string {
    return this.browser.id;
  }

  /** Ends the browser and saves the profile. Throws the error if saving fails. */
  async save(): Promise<void> {
    await this.#stopReplay();
    await this.browser.end();
    await this.browser.saved();
  }

  /** Ends the browser without saving the profile. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#letIdle();
    await this.#stopReplay();
    await this.browser.discard();
  }
}
