import type { ProfileSave } from '../../contract/browsers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';

/** The profile of a session, and whether the session's end saves its copy. */
export class SessionProfile<Copy = unknown> {
  /** The profile that is loaded or being loaded. */
  loaded: Profile | undefined;
  /** The session's copy of the profile. A session without one saves nothing. */
  copy: Copy | undefined;
  /** The version that was copied. `undefined` if the profile was empty. */
  version: string | undefined;
  isSaved: boolean;
  /** The result of saving the profile. */
  save: ProfileSave | undefined;
  /** The error if saving failed. */
  failure: OperationError | undefined;

  constructor(
    loaded?: Profile,
    {
      copy,
      version,
      isSaved = false,
    }: { copy?: Copy | undefined; version?: string | undefined; isSaved?: boolean } = {},
  ) {
    this.loaded = loaded;
    this.copy = copy;
    this.version = version;
    this.isSaved = isSaved;
  }

  /** The copy, if the session's end saves it. */
  get unsaved(): Copy | undefined {
    return this.isSaved ? this.copy : undefined;
  }

  /** Sets whether the session's end saves the profile. */
  decide(isSaved: boolean): void {
    this.isSaved = isSaved;
    this.save = isSaved
      ? undefined
      : { status: 'discarded', message: 'the profile was not saved, because save_changes was switched off' };
  }

  failed(failure: OperationError): void {
    this.failure = failure;
    this.save = { status: 'failed', message: failure.message };
  }

  /** Throws `conflict` if the session has a profile. */
  refuseSecond(sessionId: string): void {
    if (this.loaded)
      throw new OperationError(
        'conflict',
        `the browser session ${sessionId} has a profile already: start another session for another profile`,
      );
  }
}
