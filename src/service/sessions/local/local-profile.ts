import type { ProfileSave } from '../../../contract/browsers.ts';
import { OperationError } from '../../../contract/errors.ts';
import type { Cookie } from '../../chromium/cdp/cdp-protocol.ts';
import { SessionProfile } from '../session-profile.ts';
import type { SessionBrowser } from './session-browser.ts';

/** A copy of a profile's user-data directory, which belongs to one session. */
export type ProfileCopy = {
  /** The version that was copied. `undefined` if the profile was empty. */
  readonly version: string | undefined;
  /** Cookies that Chromium forgets when it ends. */
  readonly sessionCookies: Cookie[];
  /**
   * Moves the directory, which Chromium must have closed, into the profile. The last save wins: a later save of an
   * older copy changes the returned result. Throws `insufficient_storage`, `profile_not_saved` and, for a deleted
   * profile, `conflict`. The profile is unchanged then.
   */
  save(sessionId: string, sessionCookies: Cookie[]): Promise<ProfileSave>;
};

/** Copies profiles for sessions. */
export type ProfileCopies = {
  /** Copies the profile to `directory`. Throws `insufficient_storage`, and the signal's reason. */
  copy(profileId: string, directory: string, signal: AbortSignal): Promise<ProfileCopy>;
};

/** How long Chromium may take to close, in ms. Half of the time that a service has to end and to save profiles. */
const closeTimeoutMs = 5000;

/** The profile of a session of this machine. Saves it when Chromium has ended, if the caller asked for that. */
export class LocalProfile extends SessionProfile<ProfileCopy> {
  #sessionCookies: Cookie[] = [];

  /** Ends Chromium. Lets it write its data first if the profile must be saved. */
  async close(browser: SessionBrowser): Promise<void> {
    if (!this.unsaved) return await browser.chromium.kill();
    this.#sessionCookies = await browser.sessionCookies();
    await browser.chromium.close(closeTimeoutMs);
  }

  /** Call when Chromium has ended. `exitCode` is `undefined` if it was killed. Never rejects. */
  async saveIfAsked(sessionId: string, exitCode: number | undefined): Promise<void> {
    if (!this.unsaved) return;
    try {
      if (exitCode !== 0) throw notClosed(exitCode);
      this.save = await this.unsaved.save(sessionId, this.#sessionCookies);
    } catch (error) {
      this.failed(error as OperationError);
      console.error(`browser session ${sessionId}: ${(error as OperationError).message}`);
    }
  }
}

function notClosed(exitCode: number | undefined): OperationError {
  const how =
    exitCode === undefined ? `it was killed or did not end within ${closeTimeoutMs / 1000} s` : `exit code ${exitCode}`;
  return new OperationError(
    'profile_not_saved',
    `the profile was not saved and is unchanged, because Chromium did not close properly (${how})`,
  );
}
