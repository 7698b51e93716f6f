import type { ProfileSave } from '../../contract/browsers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { Cookie } from './cdp-protocol.ts';
import type { ProfileCopy } from './profile-directories.ts';
import type { SessionBrowser } from './session-browser.ts';

/** The service itself has 10 s to end, and the profile is to be saved in that time. */
const closeTimeoutMs = 5000;

/** The profile of a session, and its part in how the session ends. */
export class SessionProfile {
  /** The profile that is loaded, or about to be. */
  loaded: Profile | undefined;
  /** The session's copy, if it is to be saved. */
  unsaved: ProfileCopy | undefined;
  #sessionCookies: Cookie[] = [];
  #save: ProfileSave | undefined;
  #failure: OperationError | undefined;

  constructor(loaded: Profile | undefined, unsaved: ProfileCopy | undefined) {
    this.loaded = loaded;
    this.unsaved = unsaved;
  }

  /** What became of it, once it was saved or could not be. */
  get save(): ProfileSave | undefined {
    return this.#save;
  }

  /** What kept it from being saved. */
  get failure(): OperationError | undefined {
    return this.#failure;
  }

  /** Ends Chromium, and lets it write before what is to be saved. */
  async close(browser: SessionBrowser): Promise<void> {
    if (!this.unsaved) return await browser.chromium.kill();
    this.#sessionCookies = await browser.sessionCookies();
    await browser.chromium.close(closeTimeoutMs);
  }

  /** To be called when Chromium is gone, with its exit code if it ended by itself. Never rejects. */
  async saveIfAsked(sessionId: string, exitCode: number | undefined): Promise<void> {
    if (!this.unsaved) return;
    try {
      if (exitCode !== 0) throw notClosed(exitCode);
      this.#save = await this.unsaved.save(sessionId, this.#sessionCookies);
    } catch (error) {
      this.#failure = error as OperationError;
      this.#save = { status: 'failed', message: this.#failure.message };
      console.error(`browser session ${sessionId}: ${this.#failure.message}`);
    }
  }
}

function notClosed(exitCode: number | undefined): OperationError {
  const how = exitCode === undefined ? `it was killed, or did not end within ${closeTimeoutMs / 1000} s` : `exit code ${exitCode}`;
  return new OperationError(
    'profile_not_saved',
    `the profile was not saved, and holds what it held before: Chromium did not end properly (${how})`,
  );
}
