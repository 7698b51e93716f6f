import type { ProfileSave } from '../../../contract/browsers.ts';
import { OperationError } from '../../../contract/errors.ts';
import type { Profile } from '../../../contract/profiles.ts';
import type { Cookie } from '../../chromium/cdp/cdp-protocol.ts';
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

/** The profile of a session. Saves it when the session ends, if the caller asked for that. */
export class SessionProfile {
  /** The profile that is loaded or being loaded. */
  loaded: Profile | undefined;
  /** The session's copy of the profile. */
  copy: ProfileCopy | undefined;
  /** Whether the copy is saved when the session ends. */
  isSaved: boolean;
  #sessionCookies: Cookie[] = [];
  #save: ProfileSave | undefined;
  #failure: OperationError | undefined;

  constructor(loaded: Profile | undefined, copy: ProfileCopy | undefined, isSaved: boolean) {
    this.loaded = loaded;
    this.copy = copy;
    this.isSaved = isSaved;
  }

  /** The copy, if it is to be saved. */
  get unsaved(): ProfileCopy | undefined {
    return this.isSaved ? this.copy : undefined;
  }

  /** Sets whether the session's end saves the profile. */
  decide(isSaved: boolean): void {
    this.isSaved = isSaved;
    this.#save = isSaved
      ? undefined
      : { status: 'discarded', message: 'the profile was not saved, because save_changes was switched off' };
  }

  /** The result of saving the profile. */
  get save(): ProfileSave | undefined {
    return this.#save;
  }

  /** The error if saving failed. */
  get failure(): OperationError | undefined {
    return this.#failure;
  }

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
      this.#save = await this.unsaved.save(sessionId, this.#sessionCookies);
    } catch (error) {
      this.#failure = error as OperationError;
      this.#save = { status: 'failed', message: this.#failure.message };
      console.error(`browser session ${sessionId}: ${this.#failure.message}`);
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
