import type { OperationError } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { ProxyAccess } from '../chromium/proxy-connection.ts';
import type { Session, SessionSettings } from './session.ts';

/** Starts the browsers of sessions: on this machine, or on others. */
export type Launcher<S extends Session> = {
  /** Whether headful browsers can be started. */
  readonly hasDisplay: boolean;
  /** How many browsers may start at the same time. */
  readonly launchesAtOnce: number;
  /**
   * Throws `unavailable` if no Chromium is found or it doesn't start, `insufficient_storage` if the copy of the profile
   * doesn't fit on the disk, and the signal's reason.
   */
  start(settings: SessionSettings, signal: AbortSignal): Promise<S>;
  /** Restarts a session's browser on a copy of a profile. Its pages are closed. Throws `conflict` if it is in use. */
  loadProfile(session: S, profile: Profile, saveChanges: boolean, signal: AbortSignal): Promise<void>;
  /**
   * Sends a session's requests through another proxy, or directly if there is none. Restarts the browser if it must.
   * Throws `conflict` while another call restarts it.
   */
  changeProxy(session: S, proxy: ProxyAccess | undefined, signal: AbortSignal): Promise<void>;
  /** Rejects if no browser can start. */
  probe(signal: AbortSignal): Promise<void>;
  /** How many browsers can run at once. Default: no limit. */
  readonly capacity?: number;
  /** Whether a browser can start now. Default: true. */
  readonly hasRoom?: boolean;
  /** The error for a session while `hasRoom` is false. */
  refusal?(): OperationError;
  /** Calls back each time when a browser may start again, or a session may be used again. */
  onRoom?(callback: () => void): void;
};
